"""Breaks of the promises about many writers: compare-and-swap, contention, the log, first opening."""

from __future__ import annotations

import os
import random
import time
from contextlib import nullcontext
from types import ModuleType
from typing import Any

import apsw

from ..planting import planted

# ---------------------------------------------------------------- compare-and-swap


@planted
def expected_is_not_compared() -> None:
    """A commit follows whatever the head is."""
    from palaver.session import Session

    commit = Session.commit
    Session.commit = lambda self, messages, expected=None, **setup: commit(self, messages, **setup)  # type: ignore


@planted
def check_and_apply_are_apart() -> None:
    """The revision is compared first, and the commit follows in a transaction of its own."""
    from palaver import HeadConflict
    from palaver.session import Session

    commit = Session.commit

    def apart(self: Session, messages: Any, expected: int | None = None, **setup: Any) -> Any:
        actual = self.revision
        if expected is not None and actual != expected:
            raise HeadConflict(self.id, expected, actual)
        time.sleep(0.0005)
        return commit(self, messages, **setup)

    Session.commit = apart  # type: ignore[method-assign]


@planted
def a_lost_commit_leaves_rows() -> None:
    """What lost the race is kept somewhere."""
    from palaver import HeadConflict
    from palaver.session import Session

    commit = Session.commit

    def keep(self: Session, messages: Any, expected: int | None = None, **setup: Any) -> Any:
        try:
            return commit(self, messages, expected, **setup)
        except HeadConflict:
            commit(self._store.sessions.create("left over"), messages)
            raise

    Session.commit = keep  # type: ignore[method-assign]


@planted
def revisions_are_told_apart_by_time() -> None:
    """A session that has the same updated_at as before has not changed."""
    from palaver import HeadConflict
    from palaver.session import Session

    commit, revision = Session.commit, Session.revision.fget
    seen: dict[int, int] = {}

    def look(self: Session) -> int:
        seen[id(self)] = self.info.updated_at
        return revision(self)  # type: ignore[misc]

    def by_time(self: Session, messages: Any, expected: int | None = None, **setup: Any) -> Any:
        if expected is not None and self.info.updated_at != seen[id(self)]:
            raise HeadConflict(self.id, expected, expected + 1)
        return commit(self, messages, **setup)

    Session.revision, Session.commit = property(look), by_time  # type: ignore


@planted
def a_commit_lands_in_pieces() -> None:
    """Each message of a whole turn is committed by itself."""
    from palaver.session import Session

    commit = Session.commit

    def piecewise(self: Session, messages: Any, expected: int | None = None, **setup: Any) -> Any:
        for message in messages if isinstance(messages, list) else [messages]:
            turn = commit(self, [message], expected, **setup)
            expected = None
        return turn

    Session.commit = piecewise  # type: ignore[method-assign]


# ---------------------------------------------------------------- locks


def _rewrite(old: str, new: str, *, whole: bool = False) -> None:
    """Every statement that a connection runs has some words of it replaced."""

    class Cursor(apsw.Cursor):
        def execute(self, statements: str, *given: Any, **named: Any) -> apsw.Cursor:
            if not whole or statements == old:
                statements = statements.replace(old, new)
            return super().execute(statements, *given, **named)

    def hook(connection: apsw.Connection) -> None:
        connection.cursor_factory = Cursor

    apsw.connection_hooks.append(hook)


@planted
def begin_is_deferred() -> None:
    """A transaction asks for the lock when it writes first, not when it begins."""
    _rewrite("BEGIN IMMEDIATE", "BEGIN")


@planted
def reads_are_not_of_one_moment() -> None:
    """Each statement of a read sees the newest state."""
    _rewrite("BEGIN", "SELECT 1", whole=True)


@planted
def writers_do_not_queue() -> None:
    """Writers meet at SQLite's own lock only, and look again after 20 to 150 ms: who comes first is luck."""
    from palaver.db.sqlite import writers_line

    _open_the_line()
    module = ModuleType("time")
    module.__dict__.update(time.__dict__, sleep=lambda seconds: time.sleep(random.uniform(0.02, 0.15)))
    writers_line.time = module  # type: ignore[assignment]


def _open_the_line() -> None:
    from palaver.db.sqlite.writers_line import WritersLine

    WritersLine._try = lambda self: True  # type: ignore[method-assign]
    WritersLine.release = lambda self: setattr(self, "_is_front", False)  # type: ignore[method-assign]


@planted
def busy_is_an_error() -> None:
    """Nobody tries again when the lock is taken."""

    class Hasty(apsw.Connection):
        def set_busy_timeout(self, milliseconds: int) -> None:
            super().set_busy_timeout(0)

    class Nothing(Exception):
        pass

    _use_instead(Connection=Hasty, BusyError=Nothing)


def _use_instead(**names: Any) -> None:
    """The engine uses these in place of SQLite's own."""
    from palaver.db.sqlite import connect, engine, transactions

    module = ModuleType("apsw")
    module.__dict__.update(apsw.__dict__, **names)
    connect.apsw = engine.apsw = transactions.apsw = module  # type: ignore[assignment]


@planted
def readers_stand_in_line() -> None:
    """A read waits for its turn among the writers."""
    from palaver.db.sqlite.engine import SqliteDatabase

    read = SqliteDatabase.read

    def wait(self: SqliteDatabase) -> Any:
        with self._in_line():
            return read(self)

    SqliteDatabase.read = wait  # type: ignore[method-assign]


@planted
def locks_are_dropped() -> None:
    """Writers do not queue, and somebody opens and closes the file: SQLite's locks on it are gone with that."""
    _open_the_line()

    class Cursor(apsw.Cursor):
        def execute(self, statements: str, *given: Any, **named: Any) -> apsw.Cursor:
            done = super().execute(statements, *given, **named)
            shared = self.connection.filename + "-shm"
            if statements.startswith("BEGIN IMMEDIATE") and os.path.exists(shared):
                with open(shared, "rb"):
                    pass
            return done

    def hook(connection: apsw.Connection) -> None:
        connection.cursor_factory = Cursor

    apsw.connection_hooks.append(hook)


@planted
def nothing_is_checkpointed() -> None:
    """The log is never written back into the file."""

    class Hoarder(apsw.Connection):
        def wal_checkpoint(self, *given: Any, **named: Any) -> tuple[int, int]:
            return 0, 0

    _use_instead(Connection=Hoarder)


@planted
def first_openers_do_not_queue() -> None:
    """Each process makes the schema as soon as it sees that there is none, and takes the lock when it writes."""
    from palaver.db.sqlite.engine import SqliteDatabase

    SqliteDatabase._in_line = lambda self: nullcontext()  # type: ignore[method-assign]
    _rewrite("BEGIN IMMEDIATE", "BEGIN", whole=True)
