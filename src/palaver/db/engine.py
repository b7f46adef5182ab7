"""What an engine must offer. Core code sees only these protocols, never a driver.

A write transaction runs `later` statements together with the commit, in order (on Postgres as one pipeline). What
reads, or whose count matters, runs at once, after everything queued before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from .queries import Query

Row = tuple[Any, ...]
ChunkRow = tuple[Row, Row | None]  # what `append_chunk` is told, and `update_part`


class Tx(Protocol):
    """One transaction: a snapshot for reads; for writes, all or nothing (but see `errors.is_settled`)."""

    far: Any  # what sorts after everything that a column of times may hold

    def all(self, query: Query, **params: Any) -> list[Row]: ...

    def one(self, query: Query, **params: Any) -> Row | None: ...

    def run(self, query: Query, **params: Any) -> int:
        """Run now; how many rows it changed."""
        ...

    def run_many(self, query: Query, rows: Sequence[dict[str, Any]]) -> int:
        """An INSERT, run now for each of the rows; how many rows that added."""
        ...

    def defer(self, query: Query, **params: Any) -> None:
        """Run with the commit (or before the next statement that reads)."""
        ...

    def all_values(self, query: Query, *values: Any) -> list[Row]:
        """`all`, with the values in the order of the statement's names: for paths where every call counts."""
        ...

    def defer_values(self, query: Query, *values: Any) -> None:
        """`later`, in the same way."""
        ...

    def run_releasing(self, query: Query, values: list[Any]) -> None:
        """Run now, and keep nothing of it: for values of which one more copy matters. The list is emptied; who has no
        other hold of a value has let go of it when the engine has its own copy."""
        ...

    def generation(self, *, closely: bool = False) -> int | None:
        """A number that changes when somebody else has written; None if the engine cannot tell. `closely`: an engine
        that tells after a few seconds only is one that cannot."""
        ...

    def watermark(self) -> int | None:
        """A number that rises with every message row; None if the engine has none."""
        ...


class Watch(Protocol):
    """Tells when somebody has written, in this process or another."""

    def wait(self, seconds: float | None = None) -> bool:
        """True: something was written since the last time. False: nothing, for as long as that."""
        ...

    def interrupt(self) -> None:
        """Called by another thread: a wait ends now, and no other begins."""
        ...


class Database(Protocol):
    """A place to keep things: one SQLite file, one Postgres schema, or memory."""

    name: str
    longest_key: int | None  # bytes of a text that its indexes hold; None: any number

    def read(self) -> AbstractContextManager[Tx]: ...

    def write(self, *, hard: bool = False) -> AbstractContextManager[Tx]:
        """`hard`: the commit holds a boundary and must survive a power cut (as `durability` says)."""
        ...

    def insert(self, query: Query, params: Sequence[Any]) -> int:
        """One statement, its own transaction, no more work than that: the path of a streamed chunk."""
        ...

    def append_all(self, rows: Sequence[ChunkRow]) -> list[int]:
        """Chunks of many streams in one transaction, each with its part's row where that is due: how many of each were
        taken. The row of a part is changed only if its chunk is taken."""
        ...

    def watch(self) -> AbstractContextManager[Watch]: ...

    def query(self, text: str) -> tuple[list[str], Iterator[Row]]:
        """A person's own SELECT: column names and rows; it cannot change anything."""
        ...

    def close(self) -> None: ...


class Life(Protocol):
    """How an engine tells who is alive."""

    every: float | None

    def begin(self, owner: str) -> None:
        """From now on others see that this owner lives."""
        ...

    def holds(self) -> bool: ...

    def renew(self, owner: str) -> None:
        """Every so many seconds (`every`), where the engine asks for it."""
        ...

    def is_dead(self, tx: Tx, owner: str) -> bool:
        """Asked in the transaction that wants to know: who holds one connection must not wait for a second."""
        ...

    def end(self, owner: str, *, is_clean: bool = True) -> None:
        """`is_clean`: it is written down that the owner is gone."""
        ...

    def forget(self, owners: list[str]) -> None:
        """Take away what dead owners left."""
        ...


class Engine(Database, Protocol):
    """A database as it is opened: with signs of life, and settings that must stay as they were. `readonly`: nothing is
    ever written; `notes` are what there is to say about how it was opened."""

    readonly: bool
    notes: list[str]

    @property
    def life(self) -> Life: ...

    def expect_setting(self, name: str, value: str, default: str) -> None: ...
