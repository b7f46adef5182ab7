"""Stores of schemas 4 and 5: what made version_1*.json*, version_2*.json*, and version_4.sql and version_5.sql in
../migrations.

It was run once for each, by the Palaver whose schema that was, and whose exports were of version 1 and of version 2:

    PYTHONPATH=palaver-of-schema-4/src python tests/exports/old_talks.py

The files are kept as those wrote them; this one only reads them. `told` is also what a test asks of it then.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import apsw

import palaver
from palaver import exports
from palaver.base import clock
from palaver.db import migrate

HERE = Path(__file__).parent
CALM: dict[str, Any] = {"trim_after": 1e9, "recover_every": None}
T0 = 1_700_000_000_000
GONE = "4711-own_gone"  # a writer of another machine


# ---------------------------------------------------------------- what was said


def answer(turn: Any, text: str, call: str | None = None, output: Any = None) -> None:
    turn.write({"type": "start"})
    turn.write({"type": "start-step"})
    turn.write({"type": "text-start", "id": "t"})
    turn.write({"type": "text-delta", "id": "t", "delta": text})
    turn.write({"type": "text-end", "id": "t"})
    if call is not None:
        turn.write({"type": "tool-input-available", "toolCallId": call, "toolName": "run", "input": {"n": 1.10}})
    if output is not None:
        turn.write({"type": "tool-output-available", "toolCallId": call, "output": output})
    turn.write({"type": "finish-step"})
    turn.write({"type": "finish", "finishReason": "stop"})


def fill(store: palaver.Store) -> None:
    """One of everything; the last one stays open."""
    if migrate.VERSION >= 5:
        _counted(store)
    talk = _talk(store)
    _forks(store, talk)
    _races(store)
    _compacted(store)
    _queued(store)
    _deleted(store)
    waiting = store.sessions.create("coder", title="Waiting")
    with waiting.turn("May I?") as turn:
        answer(turn, "I ask first.", call="call-w")
    cut_off = store.sessions.create("coder", title="Cut off").turn("Still there?")
    cut_off.usage(input=3, output=2)
    for chunk in ({"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "I am in the middle"}):
        cut_off.write(chunk)


def _counted(store: palaver.Store) -> None:
    """What came with schema 5."""
    facts = {"project": "palaver", "note": "kept"}
    counted = store.sessions.create("coder", title="Counted", source="cli", facts=facts)
    with counted.turn("How much?", tools=[{"name": "run"}], settings={"temperature": 0.10}, role="reviewer") as turn:
        answer(turn, "So much.")
        turn.usage(input=7, output=2, cost_usd=0.5, key="resp-1", model="acme/large")
        turn.usage(input=3, key="resp-2")
    counted.add_usage({"inputTokens": 4}, computed_usd=0.125, price="list 1", source="title", key="resp-3")
    counted.end("all counted")


def _talk(store: palaver.Store) -> palaver.Session:
    talk = store.sessions.create("coder", title="Talk", workspace="/src", model="acme/large", metadata={"n": 1.5})
    asked = {
        "toolset": "all",
        "tools": ["run"],
        "permissions": [{"permission": "run", "pattern": "*", "action": "ask"}],
    }
    with talk.turn("Why?", system_prompt="Be exact.", model="acme/small", **asked) as turn:
        answer(turn, "The linker flag.", call="call-1", output={"ok": True})
        turn.usage(input=10, output=4, cost_usd=0.25)
        turn.usage(input=1, cache_read=5)
    with talk.turn("And now?") as turn:
        answer(turn, "All good.")
    with talk.regenerate() as turn:
        answer(turn, "All green.")
        turn.fail("the model hung up")
    told = {"usage": {"input": 3, "output": 4, "reasoning": 1}}
    talk.commit(["More", {"role": "assistant", "metadata": told, "parts": [{"type": "text", "text": "Counted."}]}])
    talk.alias("the talk")
    talk.alias("first", "thread", turn=talk.path()[0].id)
    store.put_foreign_id("other", "m-1", talk.messages()[0]["id"])
    return talk


def _forks(store: palaver.Store, talk: palaver.Session) -> None:
    fork = talk.fork(at=talk.messages()[1]["id"], title="Fork")
    with fork.turn("In the fork") as turn:
        answer(turn, "Apart.")
        turn.usage(output=7)
    with fork.edit(fork.messages()[2]["id"], "In the fork, edited") as turn:
        answer(turn, "Apart again.")
    fork.rewind(to=fork.messages()[1]["id"])
    fork.undo()
    fork.fork(title="Copied", copy=True).commit(["Deeper"])
    spawned = store.sessions.create("helper", parent=talk, tool_call_id="call-1", id="my own id")
    spawned.commit(["Do it"])
    spawned.archive()


def _races(store: palaver.Store) -> None:
    races = store.sessions.create("coder", title="Races")
    races.commit(["Begin"])
    winner, loser = races.turn("Winner"), races.turn("Loser")
    answer(winner, "It wins.")
    answer(loser, "It loses.")
    winner.seal()
    try:
        loser.seal()
    except palaver.HeadConflict:
        pass


def _compacted(store: palaver.Store) -> None:
    long = store.sessions.create("coder", title="Compacted")
    for number in range(3):
        with long.turn(f"Question {number}") as turn:
            answer(turn, f"Answer {number}", call=f"call-c{number}", output=number)
    long.compact(
        "They asked thrice.", keep_from=long.path()[2].id, tokens_before=900, tokens_after=90, model="acme/small"
    )
    long.commit(["After"])
    long.prune(keep=1)


def _queued(store: palaver.Store) -> None:
    busy = store.sessions.create("coder", title="Queued")
    hook = {"source": "webhook", "delivery_id": "d-1", "fired_at": 7}
    busy.enqueue("Fires", id="q-1", trigger=hook, system_prompt="Be brief.")
    busy.enqueue("Waits", id="q-2", model="acme/large")
    busy.enqueue("Is taken back", id="q-3")
    busy.cancel("q-3")
    turn = busy.claim()
    assert turn is not None
    with turn:
        answer(turn, "Fired.")


def _deleted(store: palaver.Store) -> None:
    origin = store.sessions.create("coder", title="Deleted")
    with origin.turn("Kept by a fork") as turn:
        answer(turn, "Rescued.")
        turn.usage(input=1)
    rescued = origin.fork(title="Rescued")
    rescued.commit(["Alive"])
    origin.commit(["Not in the fork"])
    origin.delete()


# ---------------------------------------------------------------- what a Palaver tells of it


def told(store: palaver.Store, session_ids: Iterable[str]) -> dict[str, Any]:
    """Of each session: what it says, its tree, and what it used."""
    return {session_id: _told(store.sessions.get(session_id, deleted=True)) for session_id in session_ids}


def _told(session: palaver.Session) -> dict[str, Any]:
    info = session.info
    return {
        "title": info.title,
        "messages": session.messages(),
        "context": session.context(),
        "tree": [_turn(turn) for turn in session.tree()],
        "path": [turn.id for turn in session.path()],
        "strays": [turn.id for turn in session.strays()],
        "waiting": [turn.id for turn in session.waiting()],
        "queue": [queued.id for queued in session.queue()],
        "usage": [*info.usage.counts(), info.total_tokens, info.cost_usd],
    }


def _turn(turn: palaver.TurnInfo) -> list[Any]:
    digest = None if turn.digest is None else turn.digest.hex()
    return [turn.id, turn.parent_id, turn.kind, turn.status, digest, *turn.usage.counts(), turn.cost_usd]


class Kept(NamedTuple):
    """The files that a Palaver left."""

    version: int  # of its exports
    schema: int

    @property
    def everything(self) -> Path:
        return HERE / f"version_{self.version}.jsonl"

    @property
    def copied(self) -> Path:
        """One fork, and husks."""
        return HERE / f"version_{self.version}_copied.jsonl"

    @property
    def words(self) -> Path:
        return HERE / f"version_{self.version}.json"

    @property
    def sql(self) -> Path:
        return HERE.parent / "migrations" / f"version_{self.schema}.sql"

    def told(self) -> dict[str, Any]:
        """What the Palaver of the time told of it."""
        found: dict[str, Any] = json.loads(self.words.read_text())
        return found


FIRST, SECOND = Kept(1, 4), Kept(2, 5)


# ---------------------------------------------------------------- making the files


def dumped(path: str) -> str:
    """Every row as an INSERT. Who wrote is a process of no machine."""
    with apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY) as db:
        [(owner,)] = db.execute("SELECT id FROM owners").fetchall()
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()]
        lines = []
        for name in names:
            for row in db.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall():
                row = (GONE, 4711, "elsewhere", *row[3:]) if name == "owners" else row
                values = ", ".join(apsw.format_sql_value(value) for value in row)
                lines.append(f"INSERT INTO {name} VALUES ({values});\n".replace(str(owner), GONE))
    db.close()
    return "".join(lines)


def main() -> None:
    (files,) = (kept for kept in (FIRST, SECOND) if kept.schema == migrate.VERSION)
    ticks = itertools.count(T0)
    clock._now_ns = lambda: next(ticks) * 1_000_000
    with TemporaryDirectory() as folder:
        path = os.path.join(folder, "talks.db")
        store = palaver.open(path, **CALM)
        fill(store)
        for file, chosen in ((files.everything, None), (files.copied, [store.sessions.match("Copied")[0].id])):
            with open(file, "wb") as out:
                exports.write(store.db, out, chosen)
        ids = [id_ for (id_,) in store.db.query("SELECT id FROM chat_sessions ORDER BY created_at")[1]]
        files.words.write_text(json.dumps(told(store, ids), indent=1, ensure_ascii=False) + "\n")
        left = f"-- A store as the Palaver of schema {files.schema} left it: see ../exports/old_talks.py.\n"
        files.sql.write_text(left + dumped(path))
        store.close()


if __name__ == "__main__":
    main()
