"""`state.db` files of several versions, made by hand; and all that a store holds, to be compared."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import palaver
from palaver.dialects.hermes.columns import LATER_MESSAGES, LATER_SESSIONS
from palaver.dialects.hermes.rows import MESSAGE_COLUMNS, SESSION_COLUMNS
from palaver.dialects.hermes.schema_6 import MODEL_USAGE, TABLES

T = 1_767_300_000.0
BILLING = SESSION_COLUMNS[14:25]
SINCE_6 = ("reasoning", "reasoning_details", "codex_reasoning_items")
# What each version does not have yet: columns of sessions, of messages.
MISSING: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {
    1: ((*BILLING, "title"), ("finish_reason", *SINCE_6)),
    2: ((*BILLING, "title"), SINCE_6),
    5: ((), SINCE_6),
    6: ((), ()),
}


def made(
    path: Path,
    sessions: Iterable[Mapping[str, Any]],
    messages: Iterable[Mapping[str, Any]],
    version: int = 6,
    usage: Iterable[Mapping[str, Any]] = (),
    more: Mapping[str, Mapping[str, str]] | None = None,
) -> Path:
    """A file of a version; `more`: columns of versions that nobody knows, by table."""
    with closing(sqlite3.connect(path)) as db:
        if version < 6:
            _older(db, version)
        else:
            db.executescript(TABLES)
        if version > 6:
            later = {"sessions": LATER_SESSIONS, "messages": LATER_MESSAGES}
            for table, columns in later.items():
                for name, declared in {**columns, **(more or {}).get(table, {})}.items():
                    db.execute(f'ALTER TABLE {table} ADD COLUMN "{name}" {declared}')
            db.executescript(MODEL_USAGE)
            db.execute("CREATE TABLE gateway_routing (scope TEXT, session_key TEXT, entry_json TEXT)")
        db.execute("INSERT INTO schema_version VALUES (?)", (version,))
        db.commit()
    add(path, sessions, messages, usage)
    return path


def _older(db: sqlite3.Connection, version: int) -> None:
    of_sessions, of_messages = MISSING[version]
    for table, columns, missing in (
        ("sessions", SESSION_COLUMNS, of_sessions),
        ("messages", MESSAGE_COLUMNS, of_messages),
    ):
        kept = [f"{name} {_declared(table, name)}" for name in columns if name not in missing]
        db.execute(f"CREATE TABLE {table} ({', '.join(kept)})")
    db.execute("CREATE TABLE schema_version (version INTEGER NOT NULL)")


def _declared(table: str, name: str) -> str:
    if name == "id":
        return "TEXT PRIMARY KEY" if table == "sessions" else "INTEGER PRIMARY KEY AUTOINCREMENT"
    if name in ("started_at", "timestamp"):
        return "REAL NOT NULL"
    return "REAL" if name.endswith(("_at", "_usd")) else "INTEGER" if name.endswith(("_count", "_tokens")) else "TEXT"


def add(
    path: Path,
    sessions: Iterable[Mapping[str, Any]] = (),
    messages: Iterable[Mapping[str, Any]] = (),
    usage: Iterable[Mapping[str, Any]] = (),
) -> None:
    with closing(sqlite3.connect(path)) as db:
        for table, rows in (("sessions", sessions), ("messages", messages), ("session_model_usage", usage)):
            for row in rows:
                names, marks = ", ".join(f'"{name}"' for name in row), ", ".join("?" * len(row))
                db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))
        db.commit()


def session(name: str = "s1", **columns: Any) -> dict[str, Any]:
    return {"id": name, "source": "cli", "started_at": T, **columns}


class Said:
    """Rows of a session, each a second after the one before."""

    def __init__(self, name: str = "s1", at: float = T) -> None:
        self.name, self.at = name, at
        self.rows: list[dict[str, Any]] = []

    def __call__(self, role: str, content: Any = None, **columns: Any) -> Said:
        self.at += 1
        row = {"session_id": self.name, "role": role, "content": content, "timestamp": self.at, **columns}
        self.rows.append({name: value for name, value in row.items() if value is not None})
        return self


def call(name: str, tool: str = "terminal", arguments: str = "{}") -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": tool, "arguments": arguments}}


def calls(*names: str) -> str:
    return json.dumps([call(name) for name in names])


def content_of(path: Path | str) -> dict[str, list[dict[str, Any]]]:
    """All rows of a file, without NULLs."""
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        found = {}
        for table in ("sessions", "messages"):
            rows = db.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchall()
            found[table] = [{key: row[key] for key in row.keys() if row[key] is not None} for row in rows]  # noqa: SIM118
        return found


def digests(path: Path) -> dict[str, str]:
    """Every file in a folder, by its bytes."""
    return {each.name: sha256(each.read_bytes()).hexdigest() for each in path.parent.iterdir() if each.is_file()}


# ---------------------------------------------------------------- what a store holds


def held(store: palaver.Store) -> dict[str, Any]:
    return {info.app_id or info.id: _held(store, info) for info in store.sessions.list(archived=True)}


def _held(store: palaver.Store, info: palaver.SessionInfo) -> dict[str, Any]:
    session = store.sessions.get(info.id)
    names = {turn.id: number for number, turn in enumerate(_in_order(store, session))}
    used = [each for each in session.usage() if each.usage.total or each.cost_computed or each.cost_reported]
    return {
        "about": [info.agent, info.title, info.model, info.relation, info.created_at, info.ended_at, info.end_reason],
        "metadata": info.metadata,
        "facts": dict(session.facts),
        "parents": [store.sessions.get(each).info.app_id for each in session.ancestors()],
        "said": [_message(each) for each in session.transcript()],
        "tree": {names[turn.id]: _turn(store, session, turn, names) for turn in session.tree()},
        "usage": [[e.key, e.source, e.provider, e.model, e.usage, e.cost_computed, e.cost_reported] for e in used],
        "context": [message["parts"] for message in session.context()],
    }


def _in_order(store: palaver.Store, session: palaver.Session) -> list[palaver.TurnInfo]:
    """By the place of their first row, which is the same wherever the file was brought in."""
    return sorted(session.tree(), key=lambda turn: [int(n.item[4:]) for n in store.natives(turn.id)])


def _turn(store: palaver.Store, session: palaver.Session, turn: palaver.TurnInfo, names: dict[str, int]) -> Any:
    natives = [(each.item, each.body) for each in store.natives(turn.id)]
    parent = names.get(turn.parent_id or "")
    said = [_message(each) for each in session.messages_of(turn.id)]
    return [parent, turn.status, turn.started_at, turn.sealed_at, turn.system_prompt, natives, said]


def _message(message: Any) -> Any:
    shown = message.ui()
    return [shown["role"], shown.get("metadata"), shown["parts"], message.created_at]
