"""Palaver on Postgres, as shipped; each tag is a space of one database."""

from __future__ import annotations

import os
import zlib

import palaver

from .ours import Store as _Ours


def address() -> str:
    return os.environ["PALAVER_BENCH_DSN"]  # KeyError: the lab says that the column is missing


def space_of(path: str) -> str:
    return f"bench-{zlib.crc32(path.encode()):08x}"


class Store(_Ours):
    durability = "boundary"

    def __init__(self, path: str) -> None:
        self.path = path
        self.store = palaver.open(address(), space=space_of(path), durability=self.durability)
        self.sessions = {}
        self.ids = {}

    def where(self) -> tuple[str, ...]:
        return address(), space_of(self.path)

    def fill_sessions(self, count: int) -> None:
        for i in range(count):
            session = self.store.sessions.create("bench", workspace="/w", title=f"Session {i}")
            session.commit(f"please fix the failing deploy number {i} and report")
