"""Plain SQL beside the store: a reader that knows nothing of Palaver, and another program that writes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import apsw

PATIENCE_MS = 10_000
Rows = list[tuple[Any, ...]]


@contextmanager
def reading(path: str | Path) -> Iterator[apsw.Connection]:
    """A connection that can only read. It goes by no file system that a test has put in between."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY, vfs="unix")) as connection:
        connection.set_busy_timeout(PATIENCE_MS)
        yield connection


@contextmanager
def writing(path: str | Path, *, foreign_keys: bool = False) -> Iterator[apsw.Connection]:
    """Another program. It does not know our rules; SQLite's check of references is off, as it is for most programs."""
    with closing(apsw.Connection(str(path))) as connection:
        connection.set_busy_timeout(PATIENCE_MS)
        connection.execute(f"PRAGMA foreign_keys={int(foreign_keys)}")
        yield connection


def query(path: str | Path, text: str, *params: Any) -> Rows:
    with reading(path) as connection:
        return connection.execute(text, params).fetchall()


def column(path: str | Path, text: str, *params: Any) -> list[Any]:
    """The first value of each row."""
    return [row[0] for row in query(path, text, *params)]


def one(path: str | Path, text: str, *params: Any) -> Any:
    """The only value of the only row."""
    ((value,),) = query(path, text, *params)
    return value


def execute(path: str | Path, text: str, *params: Any) -> Rows:
    """What another program does to the file."""
    with writing(path) as connection:
        return connection.execute(text, params).fetchall()


def tables(path: str | Path) -> list[str]:
    return column(path, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")


def everything(path: str | Path, *, without: tuple[str, ...] = ()) -> dict[str, Rows]:
    """Every row of every table, but the search index: maintenance may write that at any time."""
    names = [name for name in tables(path) if name not in without and not name.startswith("document")]
    asked = {name: f'SELECT {_columns(path, name)} FROM "{name}"{_which(name)} ORDER BY 1, 2' for name in names}
    return {name: query(path, text) for name, text in asked.items()}


def _columns(path: str | Path, table: str) -> str:
    names = column(path, f"SELECT name FROM pragma_table_info('{table}') WHERE name <> 'unindexed'")
    return ", ".join(f'"{name}"' for name in names)


def _which(table: str) -> str:
    return " WHERE name NOT LIKE 'search%'" if table == "settings" else ""


def put_message(path: str | Path, session_id: str, words: str, role: str = "user", at: int | None = None) -> str:
    """Another program adds a message: plain SQL in one transaction. It comes after all that is there, unless told."""
    message = f"msg_{sha256(words.encode()).hexdigest()[:26]}"
    part = json.dumps({"type": "text", "text": words})
    with writing(path) as db:
        db.execute("BEGIN IMMEDIATE")
        ((newest,),) = db.execute("SELECT max(created_at) FROM chat_messages WHERE session_id = ?", (session_id,))
        at = max(time.time_ns() // 1_000_000, (newest or 0) + 1) if at is None else at
        db.execute("INSERT INTO chat_messages VALUES (?1, ?2, ?3, '{}', ?4, ?4)", (message, session_id, role, at))
        values = (f"prt_{message[4:]}", message, session_id, part, at)
        db.execute("INSERT INTO chat_parts VALUES (?1, ?2, ?3, 0, 'text', ?4, NULL, NULL, ?5, ?5)", values)
        db.execute("COMMIT")
    return message
