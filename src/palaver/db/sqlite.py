"""The SQLite engine: one file in WAL mode, one writing connection, readers with snapshots of their own.

Writers of all processes stand in one line (`locks.WriteQueue`) before BEGIN IMMEDIATE. A commit is two calls
into SQLite: BEGIN with the first statement, then everything queued together with COMMIT. In one process only
this library opens the database files, and nothing else ever does: closing any descriptor of them would drop
SQLite's locks.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager

import apsw

from ..clock import monotonic
from ..errors import (
    BadValue,
    NotAStore,
    SchemaMismatch,
    StoreBusy,
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from . import filesystem, migrate
from .locks import WriteQueue
from .queries import Q, Query

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType
    from typing import Any, NoReturn

    from .database import Row

NORMAL, FULL = 1, 2
_SAFE_SQLITE = (3, 51, 3)  # older builds lose commits when a write races a WAL reset
_PAGE_SIZE = 2048
_CHECKPOINT_PAGES = 2000
_BATCH = 24  # statements

_OURS = (apsw.Error, UnicodeEncodeError)  # what is translated on the way out

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


class SqliteDatabase:
    """One file (or memory) and the connections of this process to it."""

    def __init__(self, path: str, *, create: bool = True, durability: str = "boundary", timeout: float = 30.0) -> None:
        self.name = path
        self.memory = path == ":memory:"
        self._timeout = timeout
        self._soft, self._hard = _levels(durability)
        self._level = NORMAL
        self._checked = 0
        self._forks = _forks
        self._closed = False
        self._lock = threading.Lock()
        self._readers: list[apsw.Connection] = []
        self._texts: dict[tuple[tuple[Query, ...], str], str] = {}
        _refuse_old_sqlite()
        if not self.memory:
            filesystem.prepare(path, create=create)
        self._create = create
        self._queue = None if self.memory else self._open_queue()
        self._writer = self._open_writer()
        self._cursor = self._writer.cursor()

    # ------------------------------------------------------------ the waist

    def read(self) -> _Read | _MemoryRead:
        self._usable()
        return _MemoryRead(self) if self.memory else _Read(self)

    def write(self, *, hard: bool = False) -> _Write:
        self._usable()
        return _Write(self, hard)

    def insert(self, query: Query, params: Sequence[Any]) -> int:
        self._usable()
        deadline = monotonic() + self._timeout
        self._enter(deadline)
        try:
            self._sync(self._soft)
            self._patiently(query.text, params, deadline)
            return self._writer.changes()
        except apsw.Error as error:
            self._explain(error)
        finally:
            self._leave()

    def query(self, text: str) -> tuple[list[str], Iterator[Row]]:
        """A person's own SELECT: column names and rows. Whatever it says, it cannot change or open anything."""
        self._usable()
        if self.memory:
            raise BadValue("a store in memory cannot be queried beside itself")
        connection = self._connect(apsw.SQLITE_OPEN_READONLY)
        connection.authorizer = _only_reading
        connection.set_progress_handler(lambda: False, 10_000)  # lets Ctrl-C through
        cursor, columns = connection.cursor(), list[str]()

        def name_columns(running: apsw.Cursor, sql: str, bindings: Any) -> bool:
            columns[:] = [str(column[0]) for column in running.get_description()]
            return True

        cursor.exec_trace = name_columns
        try:
            cursor.execute(text)
        except apsw.Error as error:
            connection.close()
            raise BadValue(f"cannot run this: {error}") from None
        return columns, _closing(connection, cursor)

    def close(self) -> None:
        if self._closed or self._forks != _forks:
            self._closed = True
            return
        with self._lock:
            self._closed = True
            for reader in self._readers:
                reader.close()
            self._cursor.close(True)
            self._writer.close()
            if self._queue:
                self._queue.close()

    # ------------------------------------------------------------ opening

    def _open_writer(self) -> apsw.Connection:
        connection = None
        try:
            connection = self._connect(apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
            self._set_up(connection)
            return connection
        except apsw.Error as error:
            if connection:
                connection.close()
            self._explain(error, opening=True)
        except BaseException:
            if connection:
                connection.close()
            raise

    def _open_queue(self) -> WriteQueue:
        try:
            return WriteQueue(self.name + "-queue")
        except OSError as error:
            raise StoreReadOnly(f"cannot open {self.name}-queue: {error.strerror}; check who may write there") from None

    def _connect(self, flags: int) -> apsw.Connection:
        connection = apsw.Connection(self.name, flags=flags, statementcachesize=512)
        connection.set_busy_timeout(5000)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        # Without this, STAT4 compiles a statement again whenever a bound value of a range changes: 5x per commit.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        for pragma in ("foreign_keys=ON", "trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0"):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        return connection

    def _set_up(self, connection: apsw.Connection) -> None:
        """First open creates the schema; the queue keeps sixteen first openers out of each other's way."""
        connection.execute("PRAGMA synchronous=NORMAL").fetchall()
        connection.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}").fetchall()
        if not migrate.is_current(connection, self.name):
            if not self._create:
                migrate.refuse_strangers(connection, self.name)
            with self._in_line():
                connection.execute(f"PRAGMA page_size={_PAGE_SIZE}").fetchall()
                migrate.migrate(connection, self.name)
        if not self.memory and connection.execute("PRAGMA journal_mode").fetchall() != [("wal",)]:
            with self._in_line():
                connection.execute("PRAGMA journal_mode=WAL").fetchall()

    @contextmanager
    def _in_line(self) -> Iterator[None]:
        if self._queue and not self._queue.acquire(self._timeout):
            raise StoreBusy(self.name, self._queue.holder(), self._timeout)
        try:
            yield
        finally:
            if self._queue:
                self._queue.release()

    def _usable(self) -> None:
        if self._forks != _forks:
            raise StoreClosed("this store was opened before fork(); open it again in the child process")
        if self._closed:
            raise StoreClosed("this store is closed; open it again")

    # ------------------------------------------------------------ one writer at a time

    def _enter(self, deadline: float) -> None:
        if not self._lock.acquire(False) and not self._lock.acquire(timeout=max(0.0, deadline - monotonic())):
            raise StoreBusy(self.name, "another thread of this process", self._timeout)
        if self._closed:
            self._lock.release()
            self._usable()
        if self._queue and not self._queue.acquire(deadline - monotonic()):
            self._lock.release()
            raise StoreBusy(self.name, self._queue.holder(), self._timeout)

    def _leave(self) -> None:
        if self._queue:
            self._queue.release()
        self._lock.release()

    def _sync(self, level: int) -> None:
        """`synchronous` is refused inside a transaction, so it is set before one; it stays as it is."""
        if level != self._level and not self.memory:
            self._cursor.execute(f"PRAGMA synchronous={level}").fetchall()
            self._level = level

    def _patiently(self, text: str, params: Sequence[Any], deadline: float) -> list[Row]:
        """A program that does not stand in our line may hold the lock: try again, with jitter."""
        while True:
            try:
                return self._cursor.execute(text, params).fetchall()
            except apsw.BusyError:
                if monotonic() > deadline:
                    raise StoreBusy(self.name, None, self._timeout) from None
                time.sleep(0.001 + os.urandom(1)[0] / 13_000)  # 1 to 20 ms

    def _check_schema(self, generation: int) -> None:
        """Somebody else wrote since the last look: it may have been a newer Palaver's migration."""
        if generation != self._checked:
            migrate.is_current(self._writer, self.name)
            self._checked = generation

    def _text(self, queries: tuple[Query, ...], suffix: str) -> str:
        found = self._texts.get((queries, suffix))
        if found is None:
            found = self._texts[queries, suffix] = "".join(q.text for q in queries) + suffix
        return found

    def _borrow(self) -> apsw.Connection:
        try:
            return self._readers.pop()
        except IndexError:
            pass
        connection = self._connect(apsw.SQLITE_OPEN_READWRITE)
        connection.execute("PRAGMA query_only=ON").fetchall()
        return connection

    # ------------------------------------------------------------ errors, translated in one place

    def _explain(self, error: Exception, *, opening: bool = False) -> NoReturn:
        if isinstance(error, UnicodeEncodeError):
            raise BadValue("half a character (a lone surrogate) cannot be looked up or stored in a column") from None
        assert isinstance(error, apsw.Error)
        raise self._named(error, opening) from error

    def _named(self, error: apsw.Error, opening: bool) -> StoreError:
        path = self.name
        match error:
            case apsw.NotADBError():
                return NotAStore(f"{path} is not a SQLite database; nothing was changed")
            case apsw.CorruptError():
                return StoreCorrupt(
                    f"{path} is damaged ({error}); stop writing to it and restore a backup, or run `.recover` on a copy"
                )
            case apsw.ReadOnlyError():
                return StoreReadOnly(f"{path} cannot be written; check its permissions and its directory's")
            case apsw.CantOpenError():
                return StoreReadOnly(f"{path} cannot be opened ({error}); check that its directory is writable")
            case apsw.FullError():
                return StoreFull(f"the disk that holds {path} is full; nothing acknowledged was lost, free some space")
            case apsw.BusyError() | apsw.LockedError():
                return StoreBusy(path, None, self._timeout)
            case apsw.ConstraintError() if "NOT NULL" in str(error):
                return SchemaMismatch(f"{path}: {error}; a foreign column must allow NULL or have a default")
            case apsw.SQLError() if opening:
                return SchemaMismatch(f"{path} holds tables that are not shaped as expected: {error}")
        return StoreError(f"{path}: {error}")


class _Statements:
    """The verbs of a transaction over one cursor."""

    def __init__(self, cursor: apsw.Cursor) -> None:
        self._cursor = cursor

    def all(self, query: Query, **params: Any) -> list[Row]:
        return self._cursor.execute(query.text, query.bind(params)).fetchall()

    def one(self, query: Query, **params: Any) -> Row | None:
        rows = self.all(query, **params)
        return rows[0] if rows else None

    def run(self, query: Query, **params: Any) -> int:
        self.all(query, **params)
        return self._cursor.connection.changes()

    def later(self, query: Query, **params: Any) -> None:
        self.all(query, **params)

    def generation(self) -> int | None:
        return _number(self._cursor.execute("PRAGMA data_version").fetchall())

    def watermark(self) -> int | None:
        return self.all(Q.newest_row)[0][0] or 0


class _Read(_Statements):
    """A snapshot: everything read inside it is of one moment."""

    def __init__(self, db: SqliteDatabase) -> None:
        self._db = db

    def __enter__(self) -> _Read:
        try:
            self._connection = self._db._borrow()
            self._cursor = self._connection.cursor()
            self._cursor.execute("BEGIN").fetchall()
        except apsw.Error as error:
            self._db._explain(error)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cursor.close(True)
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._db._readers.append(self._connection)
        if isinstance(error, _OURS):
            self._db._explain(error)


class _MemoryRead(_Statements):
    """Memory is one connection under one lock: a read holds it."""

    def __init__(self, db: SqliteDatabase) -> None:
        super().__init__(db._cursor)
        self._db = db

    def __enter__(self) -> _MemoryRead:
        self._db._enter(monotonic() + self._db._timeout)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db._leave()
        if isinstance(error, _OURS):
            self._db._explain(error)


class _Write(_Statements):
    """A write transaction. BEGIN goes out with the first statement, COMMIT with the last ones."""

    def __init__(self, db: SqliteDatabase, hard: bool) -> None:
        super().__init__(db._cursor)
        self._db = db
        self._hard = hard
        self._begun = False
        self._generation = 0
        self._queries: list[Query] = []
        self._params: list[Any] = []

    def __enter__(self) -> _Write:
        db = self._db
        self._deadline = monotonic() + db._timeout
        db._enter(self._deadline)
        try:
            db._sync(db._hard if self._hard else db._soft)
        except apsw.Error as error:
            db._leave()
            db._explain(error)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._commit()
        except apsw.Error as failure:
            error = failure
        finally:
            try:
                if self._db._writer.in_transaction:
                    self._roll_back()
            finally:
                self._db._leave()
        if isinstance(error, _OURS):
            self._db._explain(error)

    def _roll_back(self) -> None:
        try:
            self._cursor.execute("ROLLBACK").fetchall()
        except apsw.SQLError:  # SQLite rolled back by itself (full disk, I/O error)
            if self._db._writer.in_transaction:
                raise

    def all(self, query: Query, **params: Any) -> list[Row]:
        if self._queries:
            self._flush("")
        return self._execute(query.text, query.bind(params))

    def generation(self) -> int | None:
        if not self._begun:
            self._execute("", ())
        return self._generation

    def later(self, query: Query, **params: Any) -> None:
        self._queries.append(query)
        self._params.extend(query.bind(params))

    def _execute(self, text: str, params: Sequence[Any]) -> list[Row]:
        if self._begun:
            return self._cursor.execute(text, params).fetchall()
        text = "BEGIN IMMEDIATE;PRAGMA data_version;" + text
        rows = self._db._patiently(text, params, self._deadline)
        self._begun = True
        self._generation = int(rows[0][0])
        self._db._check_schema(self._generation)
        return rows[1:]

    def _flush(self, suffix: str) -> None:
        """All that is queued as one text. Long batches go in pieces: SQLite caches a text up to 16 KB."""
        queries, params = self._queries, self._params
        self._queries, self._params = [], []
        while len(queries) > _BATCH:
            piece, queries = queries[:_BATCH], queries[_BATCH:]
            width = sum(len(q.names) for q in piece)
            self._execute(self._db._text(tuple(piece), ""), params[:width])
            params = params[width:]
        self._execute(self._db._text(tuple(queries), suffix), params)

    def _commit(self) -> None:
        if self._queries:
            self._flush("COMMIT;")
        elif self._begun:
            self._cursor.execute("COMMIT").fetchall()


_READING = {apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_FUNCTION, apsw.SQLITE_RECURSIVE}
_ASKING = {"table_info", "table_list", "table_xinfo", "index_list", "index_info", "user_version", "data_version"}


def _only_reading(
    operation: int, first: str | None, second: str | None, database: str | None, trigger: str | None
) -> int:
    if operation in _READING or (operation == apsw.SQLITE_PRAGMA and first in _ASKING):
        return apsw.SQLITE_OK
    return apsw.SQLITE_DENY


def _closing(connection: apsw.Connection, cursor: apsw.Cursor) -> Iterator[Row]:
    try:
        yield from cursor
    except apsw.Error as error:
        raise BadValue(f"cannot run this: {error}") from None
    finally:
        connection.close()


def _number(rows: list[Row]) -> int:
    return int(rows[0][0])


def _levels(durability: str) -> tuple[int, int]:
    """How chunks and boundaries are committed."""
    try:
        return {"boundary": (NORMAL, FULL), "full": (FULL, FULL), "normal": (NORMAL, NORMAL)}[durability]
    except KeyError:
        raise ValueError(f"durability is boundary, full or normal, not {durability!r}") from None


def _refuse_old_sqlite() -> None:
    version = tuple(int(n) for n in apsw.sqlite_lib_version().split("."))
    if version < _SAFE_SQLITE:
        raise StoreError(
            f"SQLite {apsw.sqlite_lib_version()} can lose commits in WAL mode; "
            f"install apsw with SQLite {'.'.join(map(str, _SAFE_SQLITE))} or newer"
        )
