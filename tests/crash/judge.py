"""The independent checker: `python -m tests.crash.judge` says what is wrong with each store.

For each killed store, in this order:
1. without Palaver: the file, its rows, and every acknowledged call, as another program finds them;
2. with Palaver: open it, which recovers; every transcript; `verify`; close it;
3. without Palaver's help again: the same rules, and exactly the recovery that the rows of step 1 called for;
4. with Palaver once more: a second open changes nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from ..tools.planting import plant
from ..tools.puppet import play
from . import claims, rules
from .history import History, closed, parts_of
from .snapshot import Row, Snapshot


class Case:
    def __init__(self, given: dict[str, Any]) -> None:
        self.path = given["path"]
        self.history = History(given["acks"])
        self.problems: list[str] = []
        self.transcripts: dict[str, list[str]] = {}

    def add(self, when: str, found: list[str]) -> None:
        self.problems += [f"{when}: {problem}" for problem in found]

    # ------------------------------------------------------------ the steps

    def look_from_outside(self) -> None:
        self.before = Snapshot(self.path)
        self.add("after the kill", rules.broken(self.before, settled=False))
        self.add("after the kill", claims.broken(self.before, self.history, settled=False))

    def recover(self) -> None:
        import palaver

        from ..tools.talk import lines

        try:
            with palaver.open(self.path) as store:
                self.add("verify", [f"{p.rule} {p.where}: {p.what}" for p in store.verify()])
                for info in store.sessions:
                    self.transcripts[info.id] = lines(store.sessions.get(info.id).messages())
        except Exception as error:
            self.add("palaver", [f"{type(error).__name__}: {error}"])

    def compare(self) -> None:
        self.after = Snapshot(self.path)
        self.add("after recovery", rules.broken(self.after, settled=True))
        self.add("after recovery", claims.broken(self.after, self.history, settled=True))
        self.add("recovery", rules.ask(wrongly_recovered, self.before, self.after))
        self.add("messages()", rules.ask(wrongly_read, self.after, self.transcripts))

    def open_again(self) -> None:
        import palaver

        try:
            palaver.open(self.path).close()
        except Exception as error:
            self.add("second open", [f"{type(error).__name__}: {error}"])
        again = Snapshot(self.path)
        changed = [name for name in again.rows if again.rows[name] != self.after.rows[name]]
        self.add("second open", [f"it changed {name}" for name in changed])


def wrongly_recovered(before: Snapshot, after: Snapshot) -> Iterator[str]:
    """Everybody is dead. Of the turns on the current revision the first lands, unless one waits there; older ones
    and the others become strays; each with all it had, its tools closed."""
    for session_id, head in before.heads.items():
        dead = before.open_turns(session_id, "streaming")
        here = [t for t in dead if t["base_revision"] == head["revision"]]
        waiting = [t for t in before.open_turns(session_id, "waiting") if t["base_revision"] == head["revision"]]
        lands = here[:1] if not waiting else []
        adrift = [t for t in dead if t not in here] + (here[1:] if not waiting else [])
        yield from _head_went_to(after, head, lands)
        for turn in adrift:
            if turn["id"] not in claims.strays(after, session_id):
                yield f"turn {turn['id']} should be a stray"
        for turn in lands + adrift:
            yield from _kept_everything(before, after, turn)
        for turn in before.open_turns(session_id, "waiting"):
            if after.turns[turn["id"]] != turn:
                yield f"waiting turn {turn['id']} was touched"


def wrongly_read(store: Snapshot, transcripts: dict[str, list[str]]) -> Iterator[str]:
    for session_id in store.heads:
        rows = store.texts(store.shown(session_id))
        if transcripts.get(session_id) != rows:
            yield f"{session_id} reads {transcripts.get(session_id)}, its rows say {rows}"


def _head_went_to(after: Snapshot, head: Row, lands: list[Row]) -> Iterator[str]:
    now = after.heads[head["session_id"]]
    if not lands:
        if (now["turn_id"], now["revision"]) != (head["turn_id"], head["revision"]):
            yield f"the head of {head['session_id']} moved, and nothing had to land"
        return
    if (now["turn_id"], now["revision"]) != (lands[0]["id"], head["revision"] + 1):
        yield f"turn {lands[0]['id']} should have landed; the head is at {now['turn_id']}, revision {now['revision']}"


def _kept_everything(before: Snapshot, after: Snapshot, turn: Row) -> Iterator[str]:
    now = after.turns[turn["id"]]
    if now["status"] != "aborted":
        yield f"turn {turn['id']} was cut off and is {now['status']}"
    wanted = closed(parts_of(claims.stored_calls(before, turn)), "aborted")
    there = claims.stored_parts(after, now)
    if there != wanted:
        yield f"turn {turn['id']} had {json.dumps(wanted)[-400:]} and has {json.dumps(there)[-400:]}"


def judge(cases: list[dict[str, Any]], name: str | None) -> list[list[str]]:
    """The bug of that name is planted in the recovery."""
    judged = [Case(one) for one in cases]
    for case in judged:
        case.look_from_outside()
    assert "palaver" not in sys.modules and "apsw" not in sys.modules
    plant(name)
    for case in judged:
        case.recover()
    for case in judged:
        case.compare()
        case.open_again()
    return [case.problems for case in judged]


if __name__ == "__main__":
    play()
