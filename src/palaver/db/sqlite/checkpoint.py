"""The write-ahead log, kept short by its writers: when it is long, its pages are moved to their place in the file.

All processes write into one log, so how long it is only a commit can say (SQLite's hook). A hook takes time: it is
there for one commit in many. A log that readers keep from starting anew grows; from time to time they are waited for, a
moment.
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
    """The log, seen from one writing connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        connection.wal_autocheckpoint(0)  # `_shorten` does that
        self._connection = connection
        self._pages: int | None = None  # as the last commit that counted them found
        self._counted_at = 0  # how many pages had been written then
        self._shorten_at, self._restart_at = 0, 0  # pages

    def look_after(self) -> None:
        """After a commit: let one of the next count the log, and after that one see whether it is long."""
        if self._connection.status(_WRITTEN)[0] - self._counted_at < _COUNT_EVERY:
            return
        if self._pages is None:
            self._connection.set_wal_hook(self._count)
            return
        pages, self._pages = self._pages, None
        self._connection.set_wal_hook(None)
        self._counted_at = self._connection.status(_WRITTEN)[0]
        if pages < CHECKPOINT_PAGES:
            self._shorten_at, self._restart_at = CHECKPOINT_PAGES, LARGEST // PAGE_SIZE
        elif pages >= self._shorten_at:
            self._shorten(pages)

    def _count(self, connection: apsw.Connection, name: str, pages: int) -> int:
        self._pages = pages
        return apsw.SQLITE_OK

    def _shorten(self, pages: int) -> None:
        """While nobody writes: a FULL checkpoint takes SQLite's writer lock if it can be had."""
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
