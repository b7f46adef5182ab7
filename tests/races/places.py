"""Where a race is run, a file or a space on Postgres, and the other program that writes there without our code."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import apsw

import palaver

Row = tuple[Any, ...]
Execute = Callable[[str, Sequence[Any]], list[Row]]
LEASE = 2.0  # seconds after which a writer on a server counts as dead


def is_server(url: str) -> bool:
    return url.startswith("postgresql://")


def open_store(url: str, **options: Any) -> palaver.Store:
    return palaver.open(url, **({"lease": LEASE} if is_server(url) else {}), **options)


@contextmanager
def foreign(url: str) -> Iterator[Execute]:
    """One transaction of another program; `?` stands for a value."""
    with _postgres(url) if is_server(url) else _sqlite(url) as execute:
        yield execute


@contextmanager
def _sqlite(path: str) -> Iterator[Execute]:
    db = apsw.Connection(path)
    db.set_busy_timeout(10_000)
    try:
        db.execute("BEGIN IMMEDIATE")
        yield lambda text, values: db.execute(text, values).fetchall()
        db.execute("COMMIT")
    finally:
        db.close()


@contextmanager
def _postgres(url: str) -> Iterator[Execute]:
    from tests.postgres.engines import connect

    db = connect(url, "default")

    def execute(text: str, values: Sequence[Any]) -> list[Row]:
        found = db.execute(text.replace("?", "%s").encode(), values)
        return found.fetchall() if found.description else []

    try:
        with db.transaction():
            yield execute
    finally:
        db.close()


def put_row(url: str, session_id: str, text: str, *, behind: int = 0) -> str:
    """Another program adds what a user said, dated so many milliseconds before the newest row, or right after it."""
    message = f"msg_foreign-{text.replace(' ', '-')}"
    with foreign(url) as execute:
        ((newest,),) = execute("SELECT max(created_at) FROM chat_messages WHERE session_id = ?", [session_id])
        at = newest - behind if behind else max(time.time_ns() // 1_000_000, (newest or 0) + 1)
        execute("INSERT INTO chat_messages VALUES (?, ?, 'user', '{}', ?, ?)", [message, session_id, at, at])
        part = [f"prt_{message}", message, session_id, f'{{"type":"text","text":"{text}"}}', at, at]
        execute("INSERT INTO chat_parts VALUES (?, ?, ?, 0, 'text', ?, NULL, NULL, ?, ?)", part)
    return message


def bury(url: str, turn_id: str) -> None:
    """The writer of a turn is nobody's process any more."""
    with foreign(url) as execute:
        execute("UPDATE turns SET owner = 'nobody' WHERE id = ?", [turn_id])


def plain_texts(url: str, session_id: str) -> list[str]:
    """The transcript as a reader has it that knows only the contract."""
    with foreign(url) as execute:
        rows = execute(
            "SELECT p.data_json, m.metadata_json FROM chat_messages m JOIN chat_parts p ON p.message_id = m.id"
            " WHERE m.session_id = ? AND p.type = 'text' ORDER BY m.created_at, m.id, p.\"index\"",
            [session_id],
        )
    return [data.split('"text":"')[1].split('"')[0] for data, meta in rows if '"hidden_at"' not in meta]
