"""What the tests of the queue share: an answer to stream, plain SQL beside the store, and processes that claim.

A process runs one of the jobs of child.py: it prints `ready`, waits for a line, works, and prints one line of JSON.
"""

from __future__ import annotations

from typing import Any

import apsw

import palaver
from palaver import Session, Turn

from ..tools.puppet import LONG, Crew
from ..tools.sql import query, reading


class ModelIsDown(Exception):
    """What a start fails with."""


def answer(turn: Turn, text: str) -> None:
    turn.append(
        [
            {"type": "start"},
            {"type": "text-start", "id": "t"},
            {"type": "text-delta", "id": "t", "delta": text},
            {"type": "text-end", "id": "t"},
        ]
    )


def talk(session: Session, question: str, reply: str) -> None:
    with session.turn(question) as turn:
        answer(turn, reply)


def fire(session: Session, reply: str = "done", id: str | None = None) -> str:
    """Claim and answer; the id of the turn."""
    turn = session.claim(id)
    assert turn is not None
    with turn:
        answer(turn, reply)
    return turn.id


def fail(session: Session, id: str | None = None) -> None:
    """Claim, and let the start fail before anything came."""
    turn = session.claim(id)
    assert turn is not None
    try:
        with turn:
            raise ModelIsDown
    except ModelIsDown:
        pass


def waiting(session: Session) -> list[str]:
    return [queued.id for queued in session.queue()]


def said(messages: list[dict[str, Any]]) -> list[str]:
    return ["".join(part.get("text", "") for part in message["parts"]) for message in messages]


def refusal(error: type[palaver.PalaverError], verb: Any, *args: Any, **given: Any) -> palaver.PalaverError:
    """The verb is refused with exactly this error."""
    try:
        verb(*args, **given)
    except palaver.PalaverError as refused:
        assert type(refused) is error, repr(refused)
        return refused
    raise AssertionError(f"{verb} was not refused")


# ---------------------------------------------------------------- plain SQL


STAMPS = """
SELECT p.data_json ->> '$.text', json_extract(m.metadata_json, '$.queued_at'),
       json_extract(m.metadata_json, '$.hidden_at')
  FROM chat_messages m JOIN chat_parts p ON p.message_id = m.id
 WHERE m.session_id = ? AND m.role = 'user' ORDER BY m.created_at
"""


def stamps(path: str, session_id: str) -> dict[str, tuple[int | None, int | None]]:
    """What each user row says to readers of the contract: (queued_at, hidden_at)."""
    return {text: (queued, hidden) for text, queued, hidden in query(path, STAMPS, session_id)}


SEEN = """
SELECT p.data_json ->> '$.text' FROM chat_messages m JOIN chat_parts p ON p.message_id = m.id
 WHERE m.session_id = ? AND json_extract(m.metadata_json, '$.hidden_at') IS NULL
   AND json_extract(m.metadata_json, '$.queued_at') IS NULL
 ORDER BY m.created_at
"""


def seen(path: str, session_id: str) -> list[str]:
    """The transcript as readers of the contract have it."""
    return [text for (text,) in query(path, SEEN, session_id)]


def everything(path: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of the file but the signs of life, and the two counters that a verb may use up for nothing."""
    with reading(path) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        tables = [name for name in tables if name != "owners" and not name.startswith("document")]  # which is indexed
        return {name: sorted(_rows(db, name), key=repr) for name in tables}


def _rows(db: apsw.Connection, table: str) -> list[tuple[Any, ...]]:
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    left_out = {("heads", "event_seq"), ("heads", "last_at"), ("turns", "unindexed")}
    kept = ", ".join(f'"{column}"' for column in columns if (table, column) not in left_out)
    which = " WHERE name NOT LIKE 'search%'" if table == "settings" else ""
    return db.execute(f"SELECT {kept} FROM {table}{which}").fetchall()


# ---------------------------------------------------------------- processes


CREW = Crew("tests.queueing.child", LONG)


def claimed_and_killed(path: str, session_id: str, **options: Any) -> None:
    """Another process claims, and is killed before it says anything more."""
    with CREW.ready([{"job": "claim", "path": path, "session": session_id, **options}]) as (process,):
        process.tell()
        assert process.hear() == "claimed"
        process.kill()
