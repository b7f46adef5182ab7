"""A store's file as another program finds it: all rows, read by the standard library from a copy.

The files themselves are only copied, never opened by this SQLite: the write-ahead log that a killed process left
must still be there for Palaver to recover. Nobody may have the store open meanwhile.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from typing import Any

Row = dict[str, Any]
TABLES = {
    "chat_sessions": "id",
    "chat_messages": "session_id, created_at, id",
    "chat_parts": 'message_id, "index"',
    "turns": "session_id, begin_seq, id",
    "turn_entries": "turn_id, seq",
    "heads": "session_id",
    "reflog": "session_id, seq",
    "events": "session_id, seq",
    "aliases": "namespace, name",
    "foreign_ids": "origin, scope, foreign_id",
    "owners": "id",
    "system_prompts": "digest",
    "schema_migrations": "version",
}


class Snapshot:
    def __init__(self, path: str) -> None:
        self.damage: list[str] = []
        self.rows: dict[str, list[Row]] = {name: [] for name in TABLES}
        self.exists = False
        if os.path.exists(path):
            with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
                self._load(_copy(path, folder))
        self.turns: dict[str, Row] = {row["id"]: row for row in self.rows["turns"]}
        self.messages: dict[str, Row] = {row["id"]: row for row in self.rows["chat_messages"]}
        self.parts: dict[str, Row] = {row["id"]: row for row in self.rows["chat_parts"]}
        self.heads: dict[str, Row] = {row["session_id"]: row for row in self.rows["heads"]}
        self.sessions: dict[str, Row] = {row["id"]: row for row in self.rows["chat_sessions"]}
        self.entries_of = _grouped(self.rows["turn_entries"], "turn_id")
        self.parts_of = _grouped(self.rows["chat_parts"], "message_id")
        self.lines_of = _grouped(self.rows["reflog"], "session_id")
        self.events_of = _grouped(self.rows["events"], "session_id")

    def _load(self, copy: str) -> None:
        db = sqlite3.connect(copy)
        db.row_factory = sqlite3.Row
        try:
            found = [row[0] for row in db.execute("PRAGMA integrity_check")]
            self.damage += [f"integrity_check: {line}" for line in found if line != "ok"]
            self.damage += [f"foreign_key_check: {tuple(row)}" for row in db.execute("PRAGMA foreign_key_check")]
            named = {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
            self.exists = bool(named)
            if named and not set(TABLES) <= named:
                self.damage.append(f"half a schema: only {sorted(named)}")
            for name in named & set(TABLES):
                rows = db.execute(f"SELECT * FROM {name} ORDER BY {TABLES[name]}").fetchall()
                self.rows[name] = [dict(row) for row in rows]
        except sqlite3.DatabaseError as error:
            self.damage.append(f"not readable: {error}")
        finally:
            db.close()

    # ------------------------------------------------------------ walking

    def path(self, turn_id: str | None) -> list[Row]:
        """The turns from the root to this one."""
        found: list[Row] = []
        while turn_id is not None and turn_id in self.turns and len(found) <= len(self.turns):
            found.append(self.turns[turn_id])
            turn_id = found[-1]["parent_id"]
        return found[::-1]

    def listed(self, turn: Row) -> list[str]:
        """Ids of the messages a turn lists."""
        return [e["ref"] for e in self.entries_of.get(turn["id"], []) if e["kind"] == "message"]

    def open_turns(self, session_id: str, *statuses: str) -> list[Row]:
        """In the order they were begun."""
        return [t for t in self.turns.values() if t["session_id"] == session_id and t["status"] in statuses]

    def shown(self, session_id: str) -> list[str]:
        """Ids of the messages on a session's path and in its live tail."""
        head = self.heads[session_id]
        path = [m for turn in self.path(head["turn_id"]) for m in self.listed(turn)]
        live = self.open_turns(session_id, "streaming", "waiting")
        tail = [m for turn in live if turn["base_revision"] == head["revision"] for m in self.listed(turn)]
        return path + sorted(tail, key=lambda m: (self.messages[m]["created_at"], m))

    def texts(self, messages: list[str]) -> list[str]:
        return [f"{self.messages[m]['role']}: {self.text(m)}" for m in messages]

    def text(self, message_id: str) -> str:
        parts = [json.loads(p["data_json"]) for p in self.parts_of.get(message_id, [])]
        return "".join(part["text"] for part in parts if part["type"] == "text")

    def events_of_turn(self, turn: Row, *kinds: str) -> list[Row]:
        found = self.events_of.get(turn["session_id"], [])
        return [e for e in found if e["turn"] == turn["begin_seq"] and e["kind"] in kinds]


def _copy(path: str, folder: str) -> str:
    copy = os.path.join(folder, "copy.db")
    shutil.copyfile(path, copy)
    for suffix in ("-wal", "-journal"):
        if os.path.exists(path + suffix):
            shutil.copyfile(path + suffix, copy + suffix)
    return copy


def _grouped(rows: list[Row], column: str) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[column], []).append(row)
    return groups
