"""Exports as bytes, taken apart and put together again, and imports with everything they said."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable
from typing import Any

import apsw

import palaver
from palaver import exports
from palaver.exports import Refusal, Summary

HEADER = b'{"palaver":"export","version":3,"schema":1}\n'
TABLES = {
    *("chat_sessions", "chat_messages", "chat_parts", "turns", "turn_entries", "heads", "reflog", "events"),
    *("copies", "aliases", "foreign_ids", "queue", "deliveries", "pruned", "session_facts", "usage"),
    *("natives", "system_prompts", "bodies", "compactions"),
}


def export(store: palaver.Store, sessions: Iterable[str] | None = None) -> bytes:
    out = io.BytesIO()
    exports.write(store.db, out, None if sessions is None else list(sessions))
    return out.getvalue()


def take(store: palaver.Store, data: bytes) -> tuple[Summary, list[Refusal]]:
    refused: list[Refusal] = []
    summary = exports.read(store.db, io.BytesIO(data), on_refused=refused.append)
    assert summary.refused == len(refused)
    return summary, refused


def lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True) if b"\r" not in data else [part + b"\n" for part in data.split(b"\n")[:-1]]


def groups(data: bytes) -> list[list[bytes]]:
    """The lines of each session, its first and last one included."""
    found: list[list[bytes]] = []
    for line in data.split(b"\n")[1:-2]:
        if line.startswith(b'{"session":'):
            found.append([])
        found[-1].append(line + b"\n")
    return found


def joined(parts: list[list[bytes]]) -> bytes:
    end = json.dumps({"end": "export", "sessions": len(parts)}, separators=(",", ":")).encode() + b"\n"
    return HEADER + b"".join(line for part in parts for line in part) + end


def forge_header(data: bytes, version: int) -> bytes:
    """The same lines as if they were of another version."""
    _, _, rest = data.partition(b"\n")
    return b'{"palaver":"export","version":%d,"schema":1}\n' % version + rest


def signed(group: list[bytes]) -> list[bytes]:
    """The group with a last line that fits, whatever was done to its rows."""
    rows = group[1:-1]
    end = {"end": session_of(group), "lines": len(rows), "sha256": hashlib.sha256(b"".join(rows)).hexdigest()}
    return [group[0], *rows, encoded(end)]


def session_of(group: list[bytes]) -> str:
    return str(json.loads(group[0])["session"])


def encoded(row: Any) -> bytes:
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def change(group: list[bytes], table: str, work: Callable[[dict[str, Any]], Any], nth: int = 0) -> list[bytes]:
    """The group with its nth row of a table changed, and signed again. `work` changes the row, or returns another."""
    places = [i for i, line in enumerate(group) if line.startswith(b'{"table":"' + table.encode() + b'"')]
    row = json.loads(group[places[nth]])
    other = work(row)
    out = list(group)
    out[places[nth]] = other if isinstance(other, bytes) else encoded(row)
    return signed(out)


def group_of(data: bytes, session_id: str) -> list[bytes]:
    return next(group for group in groups(data) if session_of(group) == session_id)


def contents(path: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table that an export holds, and what follows from them, by plain SQL on a connection of its
    own."""
    db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    db.execute("PRAGMA query_only=ON")
    columns = {table: _columns(db, table) for table in TABLES}
    found = {
        table: sorted(db.execute(f"SELECT {columns[table]} FROM {table}").fetchall(), key=repr) for table in TABLES
    }
    db.close()
    return found


def _columns(db: apsw.Connection, table: str) -> str:
    """All but what says whether maintenance has indexed a row."""
    names = [name for _, name, *_ in db.execute(f'PRAGMA table_info("{table}")').fetchall() if name != "unindexed"]
    return ", ".join(f'"{name}"' for name in names)


def rows_of(path: str, session_id: str) -> int:
    """How many rows name this session in any table."""
    db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    db.execute("PRAGMA query_only=ON")
    total = db.execute("SELECT count(*) FROM chat_sessions WHERE id = ?", (session_id,)).fetchall()[0][0]
    for table in ("chat_messages", "chat_parts", "turns", "heads", "reflog", "events", "copies", "aliases"):
        total += db.execute(f"SELECT count(*) FROM {table} WHERE session_id = ?", (session_id,)).fetchall()[0][0]
    db.close()
    return int(total)
