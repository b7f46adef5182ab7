"""Watching a SQLite file: was a transaction committed since the last look, by this process or another?

`PRAGMA data_version` answers (without I/O when nothing changed). Writers of this process wake the watcher; for commits
of other processes it polls every few milliseconds.
"""

from __future__ import annotations

from ...base.clock import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from .engine import SqliteDatabase
    from .readonly import ReadOnlyDatabase

_FIRST, _LONGEST = 0.001, 0.02  # seconds between two looks: they grow while nothing happens


class Watch:
    """Entered before the first read: then no commit falls between a read and the wait that follows it."""

    def __init__(self, db: SqliteDatabase | ReadOnlyDatabase) -> None:
        self._db = db
        self._pause = _FIRST
        self._interrupted = False

    def __enter__(self) -> Watch:
        self._connection = None if self._db.memory else self._db.borrow()
        self._seen = self._version()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._connection is not None:
            self._db.give_back(self._connection)

    def interrupt(self) -> None:
        self._interrupted = True
        self._db.wake_watchers()

    def wait(self, seconds: float | None = None) -> bool:
        """True: something was committed since the last call. False: nothing, for that many seconds."""
        end = None if seconds is None else monotonic() + seconds
        while not self._has_changed():
            left = _LONGEST if end is None else end - monotonic()
            if left <= 0 or self._interrupted:
                return False
            self._db.wait_for_writer(min(self._pause, left))
            self._pause = min(self._pause * 1.5, _LONGEST)
        self._pause = _FIRST
        return True

    def _has_changed(self) -> bool:
        version = self._version()
        changed = version != self._seen
        self._seen = version
        return changed

    def _version(self) -> int:
        self._db.refuse_closed()
        if self._connection is None:
            return self._db.writes
        ((version,),) = self._connection.execute("PRAGMA data_version").fetchall()
        return int(version)  # type: ignore[arg-type]


class FileWatch(Watch):
    """For a store that is read from a copy: it polls the stamps of the original files."""

    _db: ReadOnlyDatabase

    def __enter__(self) -> Watch:
        self._connection = None
        self._seen = self._version()
        return self

    def _version(self) -> int:
        return self._db.stamp()
