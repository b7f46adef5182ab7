"""Bugs in how a store takes errors of its disk, other processes and the clock; the tests of faults name them."""

from __future__ import annotations

import os
import re
import threading
from typing import Any

import palaver
from palaver import store, turn
from palaver.background import maintenance
from palaver.base import ids
from palaver.db import queries
from palaver.db.sqlite import checkpoint, engine
from palaver.db.sqlite.engine import SqliteDatabase
from palaver.db.sqlite.file_identity import Files
from palaver.db.sqlite.owner_files import OwnerFile
from palaver.db.sqlite.writers_line import WritersLine

from ..planting import planted


@planted
def errors_swallowed() -> None:
    """A chunk that could not be written is acknowledged."""
    append = turn.Turn.append

    def careless(self: Any, given: Any, **more: Any) -> None:
        try:
            append(self, given, **more)
        except palaver.StoreError:
            pass

    turn.Turn.append = careless  # type: ignore[method-assign]


@planted
def done_all_the_same() -> None:
    """A write that raised is made by the store itself, later."""
    append = turn.Turn.append
    left: list[Any] = []

    def stubborn(self: Any, given: Any, **more: Any) -> None:
        try:
            append(self, [*left, *given], **more)
        except palaver.StoreError:
            left[:] = given
            raise
        left.clear()

    turn.Turn.append = stubborn  # type: ignore[method-assign]


@planted
def errors_untranslated() -> None:
    """The engine's own errors reach the caller."""

    def explain(self: Any, error: Exception) -> None:
        raise error

    SqliteDatabase.explain = explain  # type: ignore[method-assign,assignment]


@planted
def refused_for_ever() -> None:
    """After its first trouble the store does nothing any more."""
    explain, refuse = SqliteDatabase.explain, SqliteDatabase.refuse_closed
    ill: list[Exception] = []

    def remember(self: Any, error: Exception) -> None:
        ill.append(error)
        explain(self, error)

    def refuse_all(self: Any) -> None:
        if ill:
            raise palaver.StoreError("something went wrong once")
        refuse(self)

    SqliteDatabase.explain = remember  # type: ignore[method-assign,assignment]
    SqliteDatabase.refuse_closed = refuse_all  # type: ignore[method-assign]


@planted
def descriptors_kept() -> None:
    """A store that is closed keeps a file."""
    WritersLine.close = lambda self: None  # type: ignore[method-assign]


@planted
def shared_commit_taken_for_granted() -> None:
    """Threads that share a commit are not told that it failed."""
    await_group = SqliteDatabase.await_group

    def trust(self: Any, group: Any) -> None:
        await_group(self, group)

    SqliteDatabase.await_group = trust  # type: ignore[method-assign]


@planted
def threads_that_raise() -> None:
    """Housekeeping dies of an error."""

    def work(self: Any) -> None:
        raise OSError("housekeeping")

    maintenance.Worker.run_due = work  # type: ignore[method-assign,assignment]


@planted
def lock_kept() -> None:
    """Who failed in three writes goes on holding the writers' lock. Failures of maintenance do not count."""
    explain = SqliteDatabase.explain
    failed: list[Exception] = []

    def keep(self: Any, error: Exception) -> None:
        is_ours = threading.current_thread() is threading.main_thread()
        failed.extend([error] if is_ours else [])
        if is_ours and len(failed) == 3:
            self._writer.execute("BEGIN IMMEDIATE")
        explain(self, error)

    SqliteDatabase.explain = keep  # type: ignore[method-assign,assignment]


@planted
def fence_raised_too_early() -> None:
    """A wait that fails takes the turn from its writer."""
    wait = turn.Turn.wait

    def hasty(self: Any) -> None:
        try:
            wait(self)
        except palaver.StoreError:
            self._state.fence += 1
            raise

    turn.Turn.wait = hasty  # type: ignore[method-assign]


@planted
def close_gives_up() -> None:
    """A close that fails lets go of nothing."""

    def close(self: Any) -> None:
        if not self._is_closed:
            self._is_closed = True
            for turn in self._background.turns:
                turn.abort()
            self._background.owner.leave(self.db)
            self.db.close()

    store.Store.close = close  # type: ignore[method-assign]


@planted
def holder_unnamed() -> None:
    """Who holds the lock is not told."""
    engine.holder = lambda path: None  # type: ignore[assignment]


@planted
def forks_unnoticed() -> None:
    """A forked child may use its parent's store."""
    SqliteDatabase.refuse_closed = lambda self: None  # type: ignore[method-assign]


@planted
def children_clean_up() -> None:
    """A forked child takes its parent's owner file away."""
    made: list[str] = []
    begin = OwnerFile.__init__

    def remember(self: Any, folder: str, owner: str) -> None:
        begin(self, folder, owner)
        made.append(self.path)

    OwnerFile.__init__ = remember  # type: ignore[method-assign]
    os.register_at_fork(after_in_child=lambda: [os.unlink(path) for path in made])


@planted
def theft_unnoticed() -> None:
    """Nobody looks whether the files are still there."""
    Files.refuse_others = lambda self: None  # type: ignore[method-assign]


@planted
def log_moved_whoever_wrote() -> None:
    """A store that is closed moves its log into the file, whoever has written there since."""
    Files.stranger = lambda self: None  # type: ignore[method-assign]


@planted
def log_never_shortened() -> None:
    """Nobody moves the log's pages to their place."""
    checkpoint.WriteAheadLog._shorten = lambda self, pages: None  # type: ignore[method-assign]


@planted
def clock_not_floored() -> None:
    """created_at is what the clock says."""
    for name in ("take_head", "advance_head"):
        text = getattr(queries.Q, name).text
        raw, count = re.subn(r"max\(last_at \+ 1, :now, .*?, 0\)\)", "max(:now, 0 * length(:session))", text)
        assert count == 1, text
        setattr(queries.Q, name, queries.Query(name, raw))


@planted
def ids_not_floored() -> None:
    """An id is what the clock says."""
    from palaver.base.clock import now_ms

    ids.mint = lambda prefix, now=None: f"{prefix}{now_ms() * 4096:014x}{os.urandom(6).hex()}"


@planted
def ids_of_twelve_digits() -> None:
    """The stamp of an id is cut to 48 bits."""
    mint = ids.mint

    def short(prefix: str, now: int | None = None) -> str:
        whole = mint(prefix, now)
        return f"{prefix}{int(whole[4:18], 16) & (2**48 - 1):012x}{whole[18:]}00"

    ids.mint = short
