"""Plain psycopg: the same rows into the same tables, a prepared statement each, one transaction per operation."""

from __future__ import annotations

import itertools
import os
import time
from typing import Any

import orjson
import psycopg

import palaver

from ..protocol import Adapter
from .ours_postgres import address, space_of

MESSAGE = "INSERT INTO chat_messages VALUES (%s, %s, %s, %s, %s, %s)"
PART = "INSERT INTO chat_parts VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
ENTRY = "INSERT INTO turn_entries VALUES (%s, %s, %s, %s, NULL, %s, %s)"
TURN = (
    "INSERT INTO turns (id, parent_id, session_id, base_revision, begin_seq, kind, status, fence, started_at,"
    " sealed_at, digest, depth, thread_tokens, thread_messages)"
    " VALUES (%s, %s, %s, %s, %s, 'turn', 'completed', 1, %s, %s, %s, %s, 0, %s)"
)
HEAD = (
    "UPDATE heads SET turn_id = %s, revision = revision + 1, event_seq = event_seq + 1, last_at = %s"
    " WHERE session_id = %s"
)
LINE = "INSERT INTO reflog VALUES (%s, %s, 'seal', %s, %s, %s, NULL, NULL, %s)"
TOUCH = "UPDATE chat_sessions SET updated_at = %s WHERE id = %s"
CHUNK = "INSERT INTO events VALUES (%s, %s, 'chunk', 1, %s, %s)"


class Store(Adapter):
    can = frozenset({"append", "load", "stream", "streams", "list"})
    threads = True

    def __init__(self, path: str) -> None:
        super().__init__(path)
        space = "raw-" + space_of(path)
        store = palaver.open(address(), space=space)  # the tables
        self.schema = store._engine.schema
        store.close()
        self.c = self.connect()
        self.seq, self.tag = itertools.count(), os.urandom(4).hex()
        self.turns: dict[str, tuple[str | None, int]] = {}

    def connect(self) -> psycopg.Connection[Any]:
        connection = psycopg.connect(address(), autocommit=True)
        connection.execute(f'SET search_path = "{self.schema}"')
        return connection

    def close(self) -> None:
        self.c.close()

    def uid(self, kind: str) -> str:
        return f"{kind}_{self.tag}{next(self.seq):016x}"

    def new_session(self, sid: str) -> None:
        now = time.time_ns() // 1_000_000
        self.c.execute(
            "INSERT INTO chat_sessions (id, agent, workspace_root, model_json, created_at, updated_at)"
            " VALUES (%s, 'bench', '/w', '{}', %s, %s)",
            (sid, now, now),
        )
        self.c.execute(
            "INSERT INTO heads (session_id, revision, event_seq, last_at, relation) VALUES (%s, 0, 1, 0, 'root')",
            (sid,),
        )
        self.turns[sid] = (None, 0)

    def append(self, sid: str, message: dict[str, Any]) -> None:
        ex, now, mid, turn = self.c.execute, time.time_ns() // 1_000_000, self.uid("msg"), self.uid("trn")
        parent, depth = self.turns[sid]
        ex("BEGIN")
        ex(HEAD, (turn, now, sid))
        ex(MESSAGE, (mid, sid, message["role"], "{}", now, now))
        ex(ENTRY, (turn, 0, "message", mid, b"s" * 16, b"l" * 32))
        for i, part in enumerate(message["parts"]):
            pid, data = self.uid("prt"), orjson.dumps(part).decode()
            ex(PART, (pid, mid, sid, i, part["type"], data, part.get("toolCallId"), part.get("state"), now, now))
            ex(ENTRY, (turn, i + 1, "part", pid, b"s" * 16, b"l" * 32))
        ex(TURN, (turn, parent, sid, depth, depth, now, now, b"d" * 32, depth + 1, depth + 1))
        ex(TOUCH, (now, sid))
        ex(LINE, (sid, depth + 2, turn, depth + 1, now, b"k" * 32))
        ex("COMMIT")
        self.turns[sid] = (turn, depth + 1)

    def load(self, sid: str) -> list[Any]:
        by: dict[str, dict[str, Any]] = {}
        for mid, role in self.c.execute(
            "SELECT id, role FROM chat_messages WHERE session_id = %s ORDER BY created_at, id", (sid,)
        ):
            by[mid] = {"id": mid, "role": role, "parts": []}
        for mid, data in self.c.execute(
            'SELECT message_id, data_json FROM chat_parts WHERE session_id = %s ORDER BY message_id, "index"', (sid,)
        ):
            by[mid]["parts"].append(orjson.loads(data))
        return list(by.values())

    def streams_open(self, count: int) -> None:
        """A connection for each, made beforehand."""
        self.numbers = [0] * count
        self.connections = [self.connect() for _ in range(count)]
        self.sids = [self.uid("ses") for _ in range(count)]
        for sid in self.sids:
            self.new_session(sid)

    def stream_to(self, which: int, delta: str) -> None:
        self.numbers[which] += 1
        text = orjson.dumps({"type": "text-delta", "id": "t", "delta": delta}).decode()
        now = time.time_ns() // 1_000_000
        self.connections[which].execute(CHUNK, (self.sids[which], self.numbers[which], text, now))

    def fill_sessions(self, count: int) -> None:
        for i in range(count):
            sid = self.uid("ses")
            self.new_session(sid)
            self.append(sid, {"role": "user", "parts": [{"type": "text", "text": f"please fix deploy number {i}"}]})
            self.c.execute(
                "UPDATE heads SET title = %s, preview = %s WHERE session_id = %s",
                (f"Session {i}", f"please fix deploy number {i}", sid),
            )

    def list_recent(self, count: int) -> list[Any]:
        return self.c.execute(
            "SELECT s.id, s.agent, s.workspace_root, s.model_json, h.title, h.preview, h.revision, s.total_tokens,"
            " s.metadata_json, s.created_at, s.updated_at, t.depth, t.thread_messages FROM chat_sessions s"
            " JOIN heads h ON h.session_id = s.id LEFT JOIN turns t ON t.id = h.turn_id"
            " WHERE s.agent = 'bench' AND s.archived_at IS NULL ORDER BY s.updated_at DESC LIMIT %s",
            (count,),
        ).fetchall()
