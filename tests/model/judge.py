"""An independent reader: the three tables of the contract through plain SQL, without a line of ours.

And the other side of it: another program that writes whole messages there without our code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import apsw


class Row(NamedTuple):
    """A message as the contract's tables hold it."""

    id: str
    role: str
    metadata: dict[str, Any]
    hidden: bool
    queued_at: int | None
    created_at: int
    parts: list[dict[str, Any]]


class Judge:
    """One read-only connection, next to the store's own."""

    def __init__(self, path: str) -> None:
        self._db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        self._db.set_busy_timeout(5000)

    def close(self) -> None:
        self._db.close()

    def rows(self, session: str) -> list[Row]:
        """All rows of a session, hidden ones too, in the order a contract reader shows them."""
        found = self._db.execute(
            "SELECT id, role, metadata_json, created_at FROM chat_messages"
            " WHERE session_id = ? ORDER BY created_at, id",
            (session,),
        ).fetchall()
        return [self._row(*row) for row in found]

    def _row(self, message: str, role: str, metadata: str, created_at: int) -> Row:
        shown = json.loads(metadata)
        hidden = shown.pop("hidden_at", None) is not None
        queued_at = shown.pop("queued_at", None)
        return Row(message, role, shown, hidden, queued_at, created_at, self._parts(message))

    def _parts(self, message: str) -> list[dict[str, Any]]:
        found = self._db.execute(
            'SELECT "index", data_json, type, tool_call_id, tool_state FROM chat_parts'
            ' WHERE message_id = ? ORDER BY "index"',
            (message,),
        ).fetchall()
        parts = [json.loads(row[1]) for row in found]
        assert [row[0] for row in found] == list(range(len(found))), f"parts of {message} have gaps"
        for part, (_, _, kind, call, state) in zip(parts, found, strict=True):
            tool = kind.startswith("tool-")
            assert (kind, call) == (part["type"], part["toolCallId"] if tool else None)
            assert state == (part["state"] if tool else None)
        return parts

    def session(self, session: str) -> dict[str, Any]:
        """The row of a session: rollups, stamps, parent."""
        names = (
            "prompt_tokens, completion_tokens, reasoning_tokens, cache_read, cache_write, total_tokens, "
            "archived_at, parent_id, parent_message_id, metadata_json"
        )
        row = self._db.execute(f"SELECT {names} FROM chat_sessions WHERE id = ?", (session,)).fetchall()[0]
        return dict(zip(names.split(", "), row, strict=True))


class Foreigner:
    """Another program: writes contract rows through a connection of its own, and goes."""

    def __init__(self, path: str, now: int) -> None:
        self._path = path
        self._now = now

    def write(self, session: str, messages: list[tuple[str, str, str]]) -> None:
        """Whole messages (id, role, text), each newer than everything in the session."""
        with self._open() as db:
            for message, role, text in messages:
                self._insert(db, session, message, role, text)

    def found(self, session: str, messages: list[tuple[str, str, str]]) -> None:
        """A whole session with its messages."""
        with self._open() as db:
            db.execute(
                "INSERT INTO chat_sessions (id, agent, model_json, created_at, updated_at)"
                " VALUES (?, 'other', ?, ?, ?)",
                (session, '{"provider_id":"","model_id":""}', self._now, self._now),
            )
            for message, role, text in messages:
                self._insert(db, session, message, role, text)

    @contextmanager
    def _open(self) -> Iterator[apsw.Connection]:
        """One transaction, which waits for its place before it reads."""
        db = apsw.Connection(self._path, flags=apsw.SQLITE_OPEN_READWRITE)
        db.set_busy_timeout(5000)
        try:
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")
        finally:
            db.close()

    def _insert(self, db: apsw.Connection, session: str, message: str, role: str, text: str) -> None:
        newest = db.execute("SELECT max(created_at) FROM chat_messages WHERE session_id = ?", (session,)).fetchall()
        at = max(self._now, (newest[0][0] or 0) + 1)
        db.execute(
            "INSERT INTO chat_messages (id, session_id, role, metadata_json, created_at, updated_at)"
            " VALUES (?, ?, ?, '{}', ?, ?)",
            (message, session, role, at, at),
        )
        db.execute(
            'INSERT INTO chat_parts (id, message_id, session_id, "index", type, data_json, created_at, updated_at)'
            " VALUES (?, ?, ?, 0, 'text', ?, ?, ?)",
            (f"part-{message}", message, session, json.dumps({"type": "text", "text": text}), at, at),
        )
