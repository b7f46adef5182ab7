"""Watching a space: NOTIFY wakes. Since a hint may be left out, or stay on another node, one looks now and then anyway:
if the server's snapshot is the same as before, nothing was committed. What happened is read from the event sequence."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

import psycopg

from ...base.clock import monotonic
from ..engine import Row
from ..queries import Query

if TYPE_CHECKING:
    from .engine import PostgresDatabase

_SILENCE = 0.25  # seconds without a hint after which one looks
_LOOKS = 0.005  # seconds between two looks where nobody notifies
_SLICE = 0.05  # seconds after which an interrupt is noticed
# A standby leaves out which transactions run: one that ends need not change what it shows.
_SNAPSHOT = Query("server_snapshot", "SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_current_snapshot()::text END")


class Watch:
    """Made before the first read. `wait` may say that something happened when nothing did: the reader finds nothing."""

    def __init__(self, db: PostgresDatabase) -> None:
        self._db = db
        self._connection: psycopg.Connection[Row] | None = None
        self._seen: str | None = None
        self._interrupted = False

    def __enter__(self) -> Watch:
        try:
            self._listen()
            self._has_changed()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._connection is not None:
            self._connection.close()

    def interrupt(self) -> None:
        self._interrupted = True

    def wait(self, seconds: float | None = None) -> bool:
        """True: look again. False: nothing, for as long as that. A lost connection is an error: begin another watch."""
        end = None if seconds is None else monotonic() + seconds
        while not self._interrupted:
            self._db.refuse_closed()
            pause = _SILENCE if self._connection is not None else _LOOKS
            left = pause if end is None else min(pause, end - monotonic())
            if left <= 0:
                return False
            if self._is_notified(left) or self._has_changed():
                return True
        return False

    def _listen(self) -> None:
        if self._db.has_pooler:
            return
        connection = self._db.pool.connect(once=True)
        try:
            connection.execute(f'LISTEN "{self._db.channel}"')
        except psycopg.errors.ReadOnlySqlTransaction:  # a standby, which can be read and does not notify
            connection.close()
            return
        self._connection = connection

    def _is_notified(self, seconds: float) -> bool:
        if self._connection is None:
            self._db.pool.nap(seconds)
            return False
        end = monotonic() + seconds
        while (left := end - monotonic()) > 0 and not self._interrupted:
            try:
                if list(self._connection.notifies(timeout=min(left, _SLICE), stop_after=1)):
                    return True
            except psycopg.Error as error:
                self._db.explain(error)
        return False

    def _has_changed(self) -> bool:
        """Whether anybody committed since the last look; also, where the server cannot tell."""
        before, self._seen = self._seen, self._snapshot()
        return self._seen is None or self._seen != before

    def _snapshot(self) -> str | None:
        """A text that changes with every commit on the server; None if it does not show them all."""
        if self._db.has_citus:  # what a worker commits is not in it
            return None
        if self._connection is None:
            with self._db.read() as tx:
                row = tx.one(_SNAPSHOT)
        else:
            try:
                row = self._connection.execute(_SNAPSHOT.text.encode()).fetchone()
            except psycopg.Error as error:
                self._db.explain(error)
        assert row is not None
        (text,) = row
        return None if text is None else str(text)
