"""The source of a read-only store: the file itself, or a copy of it.

Where SQLite can read the file, it is read in place, and commits of other processes are seen. On a file system that is
mounted read-only SQLite cannot make the log's index: a database without a log is read as a file that never changes, any
other is copied with its log. The log is never left out: it may hold everything that was acknowledged. An older schema,
or another program's, is migrated in a copy.
"""

from __future__ import annotations

import os

import apsw

from .. import migrate
from . import filesystem, intruders
from .connect import connect
from .errors import explain

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from .private_copy import PrivateCopy, Stamp

_WRITABLE, _READABLE = apsw.SQLITE_OPEN_READWRITE, apsw.SQLITE_OPEN_READONLY
_CANNOT = (apsw.CantOpenError, apsw.ReadOnlyError, apsw.FullError, apsw.IOError)


class Source:
    """The file that SQLite opens; and, where that is not the store itself, the stamp of the store at that time."""

    def __init__(
        self,
        path: str,
        file: str,
        flags: int,
        *,
        seen: Stamp | None = None,
        copy: PrivateCopy | None = None,
        note: str | None = None,
    ) -> None:
        self._path = path
        self._seen, self._copy = seen, copy
        self.file, self.flags, self.note = file, flags, note

    @property
    def is_in_place(self) -> bool:
        return self._seen is None

    def is_torn(self) -> bool:
        """The file is read as one that never changes, and a process changed it: what was read is worth nothing. (A
        log that another process began beside it has changed nothing yet.)"""
        if self._seen is None or self._copy is not None:
            return False
        (now, *_), (before, *_) = stamp(self._path), self._seen
        return now != before

    def has_changed(self) -> bool:
        return self._seen is not None and stamp(self._path) != self._seen

    def connect(self) -> apsw.Connection:
        connection = connect(self.file, self.flags, keeping_log=True)
        try:
            connection.execute("PRAGMA query_only=ON").fetchall()
        except BaseException:
            self.end(connection)
            raise
        return connection

    def end(self, connection: apsw.Connection) -> None:
        """Close the last connection. An empty log was made by our reading: SQLite removes it and its index."""
        try:
            if self._seen is None and self.flags == _WRITABLE and _size(self._path + "-wal") == 0:
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        finally:
            connection.close()

    def let_go(self) -> None:
        if self._copy is not None:
            self._copy.remove()


def find(path: str, timeout: float) -> tuple[Source, apsw.Connection]:
    """Where the store at this path is to be read, and a first connection there."""
    filesystem.require(path)
    source = _original(path)
    if source is None:
        return _copied(path, timeout, None, "SQLite cannot read it where it lies without changing something there")
    connection = None
    had_index = os.path.exists(path + "-shm")  # before we made one
    try:
        connection = source.connect()
        intruders.refuse(connection, path)
        if migrate.is_current(connection, path):
            return source, connection
        migrate.refuse_strangers(connection, path)
        version = migrate.version_of(connection)
        why = f"it has schema {version}, not {migrate.VERSION}" if version else "it has only the contract's tables"
        copied = _copied(path, timeout, connection, why)
        original, connection = connection, None
        return _instead(source, original, copied)
    except _CANNOT as error:
        if connection is not None:
            source.end(connection)
        if had_index:  # another process may have it open: only SQLite can read it then
            raise explain(error, path, timeout, reading=True) from error
        return _copied(path, timeout, None, f"SQLite cannot read it where it lies: {error}")
    except BaseException as error:
        if connection is not None:
            source.end(connection)
        if isinstance(error, apsw.Error):
            raise explain(error, path, timeout, opening=True) from error
        raise


def _instead(
    source: Source, original: apsw.Connection, copied: tuple[Source, apsw.Connection]
) -> tuple[Source, apsw.Connection]:
    """Close the original, which is not read any more; if that fails, remove the copy."""
    try:
        source.end(original)
    except BaseException:
        made, connection = copied
        connection.close()
        made.let_go()
        raise
    return copied


def _original(path: str) -> Source | None:
    """The store itself, where that can be; None: a copy is needed."""
    if filesystem.can_write(path):
        return Source(path, path, _READABLE if _size(path + "-journal") else _WRITABLE)
    if os.path.exists(path + "-wal") and os.path.exists(path + "-shm"):  # what is missing need not be made
        return Source(path, path, _READABLE)
    if filesystem.is_mounted_readonly(path) and not _size(path + "-wal") and not _size(path + "-journal"):
        return _frozen(path)
    return None


def _frozen(path: str) -> Source:
    from urllib.parse import quote

    return Source(path, f"file:{quote(path)}?immutable=1", _READABLE | apsw.SQLITE_OPEN_URI, seen=stamp(path))


def _copied(path: str, timeout: float, source: apsw.Connection | None, why: str) -> tuple[Source, apsw.Connection]:
    from .private_copy import PrivateCopy  # where a store cannot be read in place

    copy = PrivateCopy(path)
    try:
        seen = copy.take_files(timeout) if source is None else copy.take_snapshot(source, timeout)
        _bring_up(copy.file, path)
        made = Source(path, copy.file, _WRITABLE, seen=seen, copy=copy, note=_note(path, why))
        return made, made.connect()
    except BaseException as error:
        copy.remove()
        if isinstance(error, apsw.Error):
            raise explain(error, path, timeout, opening=True) from error
        raise


def _bring_up(file: str, path: str) -> None:
    """Checkpoint the copy's log into it, and migrate it."""
    connection = connect(file, _WRITABLE)
    try:
        intruders.refuse(connection, path)
        if not migrate.is_current(connection, path):
            migrate.refuse_strangers(connection, path)
            migrate.migrate(connection, path)
    finally:
        connection.close()


def _note(path: str, why: str) -> str:
    return f"{path} is read from a private copy ({why}); what others write to it is copied again when it is next read"


def stamp(path: str) -> Stamp:
    from .private_copy import stamp

    return stamp(path)


def _size(name: str) -> int:
    """0: there is no such file, or nothing in it."""
    try:
        return os.stat(name).st_size
    except OSError:
        return 0
