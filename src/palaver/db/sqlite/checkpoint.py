"""Checkpoints of the write-ahead log: a writer whose commit finds the log long moves its pages into the database.

All processes append to one log, so only a commit can say how long it is (SQLite's WAL hook). The hook takes time: it is
set for one commit in many. Readers may keep the log from being restarted, and it grows; then a writer waits for them
now and then, for a moment.
"""

from __future__ import annotations

import apsw

PAGE_SIZE = 2048
LARGEST = 16 << 20  # bytes; above it the log is started anew, even if readers must be waited for a moment
CHECKPOINT_PAGES = 4000
_COUNT_EVERY = 100  # pages that this process has written
_RESTART_MS = 20
_WRITTEN = apsw.SQLITE_DBSTATUS_CACHE_WRITE


class WriteAheadLog:
    """The log, as one writing connection sees it."""

    def __init__(self, connection: apsw.Connection) -> None:
        connection.wal_autocheckpoint(0)  # `_shorten` does that
        self._connection = connection
        self._pages: int | None = None  # as the last commit that counted them found
        self._counted_at = 0  # how many pages had been written then
        self._shorten_at, self._restart_at = 0, 0  # pages

    def look_after(self) -> None:
        """Called after each commit: now and then the next commit counts the pages, and the one after it compares."""
        written, _ = self._connection.status(_WRITTEN)
        if written - self._counted_at < _COUNT_EVERY:
            return
        if self._pages is None:
            self._connection.set_wal_hook(self._count)
            return
        pages, self._pages = self._pages, None
        self._connection.set_wal_hook(None)
        self._counted_at = written
        if pages < CHECKPOINT_PAGES:
            self._shorten_at, self._restart_at = CHECKPOINT_PAGES, LARGEST // PAGE_SIZE
        elif pages >= self._shorten_at:
            self._shorten(pages)

    def _count(self, connection: apsw.Connection, name: str, pages: int) -> int:
        self._pages = pages
        return apsw.SQLITE_OK

    def _shorten(self, pages: int) -> None:
        """A FULL checkpoint takes SQLite's writer lock, or gives up at once if another process has it."""
        self._shorten_at = pages + CHECKPOINT_PAGES // 16
        mode = apsw.SQLITE_CHECKPOINT_FULL
        try:
            if pages > self._restart_at:
                self._restart_at, mode = 2 * pages, apsw.SQLITE_CHECKPOINT_RESTART
                self._connection.set_busy_timeout(_RESTART_MS)
            self._connection.wal_checkpoint(mode=mode)
        except (apsw.BusyError, apsw.LockedError, apsw.FullError, apsw.IOError):
            pass  # readers stay, or the disk is full: what is committed is in the log, and a later commit tries again
        finally:
            self._connection.set_busy_timeout(0)
