"""Palaver, at durability=normal: the column to hold against raw_sqlite3."""

from __future__ import annotations

import palaver
from palaver.core import heads
from palaver.db.queries import Q

from ..protocol import Adapter


class Store(Adapter):
    can = frozenset({"append", "load", "stream", "list", "fork", "contend", "cold"})
    notes = {"append": "one message = one committed turn", "fork": "one row and one head"}
    durability = "normal"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.store = palaver.open(path, durability=self.durability)
        self.sessions: dict[str, palaver.Session] = {}

    def close(self) -> None:
        self.store.close()

    def new_session(self, sid: str) -> None:
        session = self.store.sessions.create(agent="bench", workspace="/w")
        session.alias(sid)
        self.sessions[sid] = session

    def attach(self, sid: str) -> None:
        self.sessions[sid] = self.store.sessions.find(sid, "alias")

    def append(self, sid: str, msg: dict) -> None:
        self.sessions[sid].commit(msg)

    def append_many(self, sid: str, msgs: list[dict]) -> None:
        """A question and its answer are a turn."""
        for at in range(0, len(msgs), 2):
            self.sessions[sid].commit(msgs[at : at + 2])

    def load(self, sid: str) -> list:
        if sid not in self.sessions:
            self.attach(sid)
        return self.sessions[sid].messages()

    def stream_open(self, sid: str, text: str) -> None:
        self.turn = self.sessions[sid].turn("go on")
        self.turn.write({"type": "start"})
        self.turn.write({"type": "text-start", "id": "t"})
        if text:
            self.turn.write({"type": "text-delta", "id": "t", "delta": text})

    def stream_chunk(self, delta: str) -> None:
        self.turn.write({"type": "text-delta", "id": "t", "delta": delta})

    def stream_close(self) -> None:
        self.turn.seal()

    def fill_sessions(self, n: int) -> None:
        """The fill is not a result; every timed call is the public API."""
        with self.store.db.write() as tx:
            for i in range(n):
                sid, at = f"ses_{i:026d}", i * 7919 % n
                tx.later(
                    Q.insert_session, id=sid, agent="bench", workspace="/w", model="{}", parent=None,
                    parent_message=None, metadata="{}", now=at,
                )  # fmt: skip
                text = f"please fix the failing deploy number {i} and report"
                heads.create(tx, sid, now=at, kind="create", reason="agent bench", title=f"Session {i}", preview=text)

    def list_recent(self, k: int) -> list:
        return self.store.sessions.list(agent="bench", limit=k).sessions

    def fork(self, sid: str, at: int) -> str:
        if "ids" not in self.__dict__:
            self.ids = [m["id"] for m in self.sessions[sid].messages()]
        return self.sessions[sid].fork(at=self.ids[at]).id
