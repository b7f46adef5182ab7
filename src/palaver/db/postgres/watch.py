"""Watching a space: NOTIFY wakes the watcher, which also polls now and then. What happened is read from the events."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

import psycopg

from ...base.clock import monotonic
from ..engine import Row

if TYPE_CHECKING:
    from .engine import PostgresDatabase

_FIRST, _LONGEST = 0.005, 0.25  # seconds between two polls: without LISTEN, and with it


class Watch:
    """Entered before the first read. `wait` may say that something was committed when nothing was."""

    def __init__(self, db: PostgresDatabase) -> None:
        self._db = db
        self._connection: psycopg.Connection[Row] | None = None

    def __enter__(self) -> Watch:
        self._listen()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._connection is not None:
            self._connection.close()

    def wait(self, seconds: float | None = None) -> bool:
        """True: look again. False: nothing, for as long as that."""
        self._db.refuse_closed()
        end = None if seconds is None else monotonic() + seconds
        pause = _LONGEST if self._connection is not None else _FIRST
        left = pause if end is None else min(pause, end - monotonic())
        if left <= 0:
            return False
        self._sleep(left)
        return end is None or monotonic() < end

    def _listen(self) -> None:
        if self._db.has_pooler:
            return
        connection = self._db.pool.connect()
        try:
            connection.execute(f'LISTEN "{self._db.channel}"')
        except psycopg.errors.ReadOnlySqlTransaction:  # a standby, which can be read and does not notify
            connection.close()
            return
        self._connection = connection

    def _sleep(self, seconds: float) -> None:
        if self._connection is None:
            self._db.pool.nap(seconds)
            return
        try:
            for _ in self._connection.notifies(timeout=seconds, stop_after=1):
                pass
        except psycopg.OperationalError:  # the server went away: poll until it is back
            self._connection.close()
            self._connection = None
            self._db.pool.nap(seconds)
