"""What an engine must offer. Core code sees only these protocols, never a driver.

A write transaction runs deferred statements together with its commit, in order (on Postgres as one pipeline). A
statement that reads, or whose count of rows matters, runs at once, after everything that was deferred before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from .queries import Query

Row = tuple[Any, ...]
ChunkRow = tuple[Row, Row | None]  # what `append_chunk` is told, and `update_part`


class Tx(Protocol):
    """One transaction: a snapshot for reads; for writes, all or nothing (but see `errors.is_settled`)."""

    far: Any  # what sorts after everything that a column of times may hold
    words: str  # how the words of documents are indexed: fts5 or tsvector

    def all(self, query: Query, **params: Any) -> list[Row]: ...

    def one(self, query: Query, **params: Any) -> Row | None: ...

    def run(self, query: Query, **params: Any) -> int:
        """Run now; how many rows it changed."""
        ...

    def run_many(self, query: Query, rows: Sequence[dict[str, Any]]) -> int:
        """An INSERT, run now for each of the rows; how many rows that added."""
        ...

    def defer(self, query: Query, **params: Any) -> None:
        """Run it with the commit, or before the next statement that reads."""
        ...

    def all_values(self, query: Query, *values: Any) -> list[Row]:
        """`all`, with the values in the order of the statement's names: for paths where every call counts."""
        ...

    def defer_values(self, query: Query, *values: Any) -> None:
        """`defer`, in the same way."""
        ...

    def run_releasing(self, query: Query, values: list[Any]) -> None:
        """Run now, for a large value of which one more copy in memory matters. The engine empties the list: where the
        caller has no other reference to the value, it is freed as soon as the driver has bound its own copy."""
        ...

    def generation(self, *, closely: bool = False) -> int | None:
        """A number that changes when another connection has committed; None if the engine cannot tell. `closely`: an
        engine that notices only after a few seconds says None, too."""
        ...

    def are_words_sound(self) -> bool:
        """Read the index of words; whether it can be read."""
        ...

    def clear_words(self) -> None:
        """Make the index of words anew and empty, also where it is damaged."""
        ...

    def replace_words(self) -> None:
        """The same with the documents, where their pages are so damaged that they cannot even be emptied."""
        ...

    def watch_words(self, told: Callable[[str, Row | None, Row | None], None] | None) -> None:
        """From now on, tell of every row of the index that this transaction changes: its table, as it was, as it will
        be. None: no more. An engine that looks after its own pages tells nothing."""
        ...

    def arrival(self) -> tuple[int, str] | None:
        """A mark behind all message rows that have come, and what it is known by; None if the engine cannot tell."""
        ...

    def arrived(self, mark: int, guard: str, limit: int) -> list[str] | None:
        """The ids of message rows that another program wrote since; None: the mark is not of this place."""
        ...

    def watermark(self) -> int | None:
        """A number that rises with every message row; None if the engine has none."""
        ...


class Watch(Protocol):
    """Tells when a transaction was committed, in this process or another."""

    def wait(self, seconds: float | None = None) -> bool:
        """True: something was committed since the last call. False: nothing, for that many seconds."""
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
        """Chunks of many streams in one transaction, each with its part's row where that is due: for each chunk, 1 if
        it was stored, 0 if its guard refused it. The row of a part is updated only if its chunk was stored."""
        ...

    def watch(self) -> AbstractContextManager[Watch]: ...

    def query(self, text: str) -> tuple[list[str], Iterator[Row]]:
        """A person's own SELECT: column names and rows; it cannot change anything."""
        ...

    def close(self) -> None: ...


class Life(Protocol):
    """How an engine tells which owners live. An owner is a process that writes."""

    every: float | None

    def begin(self, owner: str) -> None:
        """From now on other processes see that this owner lives."""
        ...

    def holds(self) -> bool: ...

    def renew(self, owner: str) -> None:
        """The store calls it every so many seconds (`every`), where the engine asks for that."""
        ...

    def is_dead(self, tx: Tx, owner: str) -> bool:
        """Asked inside the caller's transaction: a thread that holds one connection must not wait for a second."""
        ...

    def end(self, owner: str, *, is_clean: bool = True) -> None:
        """`is_clean`: the owner's row says that it is gone; otherwise other processes find out."""
        ...

    def forget(self, owners: list[str]) -> None:
        """Remove what dead owners left."""
        ...


class Engine(Database, Protocol):
    """A database as it is opened: with the liveness of its writers, and settings that must stay as they were.
    `readonly`: nothing is ever written; `notes` are what there is to say about how it was opened."""

    readonly: bool
    notes: list[str]

    @property
    def life(self) -> Life: ...

    def expect_setting(self, name: str, value: str, default: str) -> None: ...
