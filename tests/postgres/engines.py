"""Three engines to do the same on: memory, a file, a space on Postgres; and a world in which they can be compared.

In that world ids, salts and the time are the same for each engine: drawn from a seed, and the clock moves only between
two steps. What an engine holds is read, and written to as another program would, without the engine's own code.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

import apsw
import psycopg
import pytest

import palaver
from palaver.background import jobs
from palaver.base import clock, ids
from palaver.core import digests
from palaver.db.postgres import spaces, transactions
from palaver.db.queries import Query

START_MS = 1_760_000_000_000
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# Nothing may happen by itself: no row because time passed, no trimming, no recovery.
OPTIONS: dict[str, Any] = {"save_buffer_ms": 0, "trim_after": 1e9, "recover_every": None}
Row = tuple[Any, ...]


class Engine(Protocol):
    name: str

    def open(self) -> palaver.Store: ...

    def rows(self, store: palaver.Store, statement: str) -> list[Row]:
        """What a SELECT finds, by another connection where there can be one."""
        ...

    def write(self, store: palaver.Store, statement: str, rows: Sequence[Row]) -> None:
        """As another program: `?` stands for a value."""
        ...


class Memory:
    name = "memory"

    def open(self) -> palaver.Store:
        return palaver.open(":memory:", **OPTIONS)

    def rows(self, store: palaver.Store, statement: str) -> list[Row]:
        with store.db.read() as tx:
            return tx.all(Query(statement, statement))

    def write(self, store: palaver.Store, statement: str, rows: Sequence[Row]) -> None:
        """No other program can come here; the store must only forget that it knows every writer."""
        named = iter(f":v_{letter}" for letter in "abcdefghijklmnop")
        query = Query(statement, "".join(next(named) if each == "?" else each for each in statement) + ";")
        with store.db.write() as tx:
            for row in rows:
                tx.defer_values(query, *row)
        store._runtime.scans._done.clear()


class File:
    name = "file"

    def __init__(self, path: Path) -> None:
        self._path = str(path)

    def open(self) -> palaver.Store:
        return palaver.open(self._path, durability="normal", **OPTIONS)

    def rows(self, store: palaver.Store, statement: str) -> list[Row]:
        with closing(apsw.Connection(self._path, flags=apsw.SQLITE_OPEN_READONLY)) as db:
            return db.execute(statement).fetchall()

    def write(self, store: palaver.Store, statement: str, rows: Sequence[Row]) -> None:
        with closing(apsw.Connection(self._path)) as db, db:
            db.executemany(statement, rows)


class Postgres:
    name = "postgres"

    def __init__(self, dsn: str, space: str) -> None:
        self._dsn, self._space = dsn, space

    def open(self) -> palaver.Store:
        return palaver.open(self._dsn, space=self._space, lease=3600.0, **OPTIONS)

    def rows(self, store: palaver.Store, statement: str) -> list[Row]:
        with closing(connect(self._dsn, self._space)) as db:
            return db.execute(statement.encode()).fetchall()

    def write(self, store: palaver.Store, statement: str, rows: Sequence[Row]) -> None:
        with closing(connect(self._dsn, self._space)) as db, db.transaction():
            db.cursor().executemany(statement.replace("?", "%s").encode(), rows)


def connect(dsn: str, space: str | None = None) -> psycopg.Connection[Row]:
    """A program's own connection: bounded in time and, with a space, inside it."""
    db = psycopg.connect(dsn, autocommit=True, connect_timeout=10, options="-c statement_timeout=30s")
    if space is not None:
        db.execute("SELECT set_config('search_path', %s, false)", (f'"{schema_of(db, space)}"',))
    return db


def schema_of(db: psycopg.Connection[Row], space: str) -> str:
    found = spaces.find(db, space)
    assert found is not None, f"there is no space {space}"
    return found.schema


# ---------------------------------------------------------------- the same world


class World:
    """The time, and where ids and salts come from."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"world {seed}")
        self.ms = START_MS

    def tail(self) -> str:
        return "".join(self._random.choices(BASE62, k=12))

    def salt(self) -> bytes:
        return self._random.randbytes(16)


@contextmanager
def same_world(seed: int) -> Iterator[World]:
    world = World(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "_now_ns", lambda: world.ms * 1_000_000)
        patch.setattr(jobs.Look, "_EVERY", 1e9)  # else one engine, when it is slow, learns of a seal sooner than others
        patch.setattr(ids, "_last", 0)
        patch.setattr(ids, "_tails", [])
        patch.setattr(ids, "_draw", lambda: ids._tails.append(world.tail()))
        patch.setattr(digests, "new_salt", world.salt)
        # SQLite sees each row of another program at once; Postgres those before its newest only now and then.
        patch.setattr(transactions, "_LOOK_EVERY", 1e-9)
        yield world
