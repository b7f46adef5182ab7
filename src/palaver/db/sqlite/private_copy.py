"""A copy of a database that only this process reads, in a folder of its own (0700).

The process removes the folder when the store is closed or the process ends. A process that is killed cannot: so the
folder holds a locked file, and the next process that makes a copy removes every folder whose lock is free.
"""

from __future__ import annotations

import atexit
import errno
import os
import shutil
import tempfile
import time

import apsw

from ...base.clock import monotonic
from ...errors import StoreBusy, StoreError, StoreFull, StoreReadOnly
from ..os_errors import refuse_too_many, told
from . import owner_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

PREFIX = "palaver-copy-"
_READER = "reader"
_YOUNG = 60.0  # seconds in which a folder may still be without its lock
_TICK = 0.02  # seconds: a file system's clock is coarse, and two changes within a tick look like one
_TRIES = 20
_PAGES = 1000  # that are copied between two looks at the clock, and between which Ctrl-C comes through
_SIZE = 2  # in a stamp
_ENDS = ("", "-wal", "-journal")  # what a database consists of; the log's index is made anew

Stamp = tuple["tuple[int, int, int, int] | None", ...]


def stamp(path: str) -> Stamp:
    """Changes when the database or its log do. An empty log holds nothing: who reads makes one and takes it away."""
    database, *logs = (_stamp(path + end) for end in _ENDS)
    return (database, *(log if log and log[_SIZE] else None for log in logs))


def _stamp(name: str) -> tuple[int, int, int, int] | None:
    try:
        found = os.stat(name)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise told(error, name, "check who may look there") from None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class PrivateCopy:
    def __init__(self, original: str) -> None:
        self._original = original
        try:
            _sweep(tempfile.gettempdir())
            self._folder = tempfile.mkdtemp(prefix=PREFIX)
            self._lock = owner_files.OwnerFile(self._folder, _READER)
        except OSError as error:
            self._explain(error)
        self._pid = os.getpid()
        self.file = os.path.join(self._folder, "store.db")
        atexit.register(self.remove)

    def take_files(self, timeout: float) -> Stamp:
        """Copy file by file, again until no process changed them meanwhile: where SQLite cannot open the file, there
        is no lock to take."""
        for _ in range(_TRIES):
            before = _settled(self._original)
            try:
                for end in _ENDS:
                    _copy_file(self._original + end, self.file + end)
            except OSError as error:
                self._explain(error)
            if stamp(self._original) == before:
                return before
        raise StoreBusy(self._original, "another process", timeout)

    def take_snapshot(self, source: apsw.Connection, timeout: float) -> Stamp:
        """Copy what SQLite reads, as of one moment, while other processes may write."""
        before = _settled(self._original)
        target = apsw.Connection(self.file)
        try:
            _hold(source)
            with target.backup("main", source, "main") as backup:
                self._step(backup, timeout)
        finally:
            target.close()
            if source.in_transaction:
                source.execute("ROLLBACK").fetchall()
        return before

    def _step(self, backup: apsw.Backup, timeout: float) -> None:
        """A large store may take longer than the timeout; but the copy fails if it gets no further for that long."""
        least, deadline = None, monotonic() + timeout
        while not backup.done:
            backup.step(_PAGES)
            if least is None or backup.remaining < least:
                least, deadline = backup.remaining, monotonic() + timeout
            elif monotonic() > deadline:
                raise StoreBusy(self._original, "another process", timeout)

    def remove(self) -> None:
        """A forked child leaves it to its parent."""
        atexit.unregister(self.remove)
        if os.getpid() == self._pid:
            self._lock.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _explain(self, error: OSError) -> NoReturn:
        refuse_too_many(error, self._original)
        which = f"{error.filename}: " if error.filename else ""
        said = f"{self._original} must be copied to be read here, and that failed: {which}{error.strerror}"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFull(f"{said}; free some space where temporary files lie (TMPDIR)") from None
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT):
            raise StoreReadOnly(f"{said}; check who may read it, and that TMPDIR can be written") from None
        raise StoreError(said) from None


def _hold(source: apsw.Connection) -> None:
    """One snapshot for the whole copy: without a transaction of its own SQLite's backup begins anew after each commit
    of another process."""
    source.execute("BEGIN").fetchall()
    source.execute("SELECT count(*) FROM sqlite_schema").fetchall()


def _settled(path: str) -> Stamp:
    """A stamp that every later change will change: the clock has gone on since the newest modification."""
    for _ in range(_TRIES):
        found = stamp(path)
        newest = max((changed for *_, changed in filter(None, found)), default=0) / 1e9
        if not 0 <= time.time() - newest < _TICK:
            break
        time.sleep(_TICK)
    return found


def _copy_file(source: str, target: str) -> None:
    """A file that is missing is missing in the copy, too (also if an earlier attempt had copied it)."""
    try:
        with open(source, "rb") as original, open(target, "wb", opener=_privately) as copy:
            shutil.copyfileobj(original, copy, 1 << 20)
    except FileNotFoundError:
        if os.path.exists(target):
            os.unlink(target)


def _privately(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_NOFOLLOW, 0o600)


def _sweep(temporary: str) -> None:
    """Remove the folders of processes that are gone."""
    with os.scandir(temporary) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and _is_left(entry):
                shutil.rmtree(entry.path, ignore_errors=True)  # another process may sweep, too


def _is_left(entry: os.DirEntry[str]) -> bool:
    try:
        found = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    is_old = time.time() - found.st_mtime > _YOUNG
    return found.st_uid == os.getuid() and is_old and entry.is_dir(follow_symlinks=False) and _is_free(entry.path)


def _is_free(folder: str) -> bool:
    return owner_files.look(folder, _READER) != owner_files.HELD
