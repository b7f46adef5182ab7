"""The SQLite engine: one file in WAL mode, one writing connection, readers with snapshots of their own.

Writing processes stand in one line (`WritersLine`), and the process at its front tries BEGIN IMMEDIATE. Before that,
threads of one process wait for the engine's lock, and share a commit where each would need an fsync. Within a process
only SQLite opens the database files: closing one of them elsewhere would drop SQLite's locks.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager

import apsw

from ...base import arguments
from ...base.clock import monotonic
from ...errors import BadValue, StoreBusy, StoreClosed, StoreError, StoreGone
from .. import migrate
from ..os_errors import told
from ..queries import Q, Query
from . import checkpoint, filesystem, intruders
from .checkpoint import WriteAheadLog
from .connect import ask, connect
from .errors import TRANSLATED, explain
from .file_identity import Files
from .group_commit import Group
from .liveness import FileLife
from .lock_table import holder
from .transactions import MemoryRead, Read, Write
from .watch import Watch
from .writers_line import WritersLine

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, NoReturn

    from ..engine import ChunkRow, Row

NORMAL, FULL = 1, 2
_LEVELS = {"boundary": (NORMAL, FULL), "full": (FULL, FULL), "normal": (NORMAL, NORMAL)}
_SAFE_SQLITE = (3, 51, 3)  # older builds lose commits when a write races a WAL reset

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


class SqliteDatabase:
    """One file (or memory) and the connections of this process to it."""

    longest_key: int | None = None
    readonly = False

    def __init__(self, path: str, *, create: bool = True, durability: str = "boundary", timeout: float = 30.0) -> None:
        self.name = path
        self.memory = path == ":memory:"
        self.timeout = timeout
        self.writes = 0  # by this process
        self.notes: list[str] = []
        self._soft, self._hard = _levels(durability, memory=self.memory)
        self._level = NORMAL
        self._checked = 0
        self._expected: dict[str, tuple[str, str]] = {}
        self._forks = _forks
        self._closed = False
        self._is_doubtful = False
        self._lock = threading.RLock()  # one that knows its thread; nobody takes it twice
        self._line: dict[object, None] = {}  # threads that wait for the lock
        self._group: Group | None = None
        self._watchers = 0
        self._written = threading.Condition()
        self._readers: list[apsw.Connection] = []
        _refuse_old_sqlite()
        if not self.memory:
            filesystem.prepare(path, create=create)
        self._create = create
        self._queue: WritersLine | None = None
        try:
            self._writer = self._open_writer()
        except BaseException:
            if self._queue:
                self._queue.close()
            raise
        self.cursor = self._writer.cursor()
        self.life = FileLife(self, None if self.memory else path + "-owners")
        if not self.memory:
            self.notes += filesystem.tighten(path)

    # ------------------------------------------------------------ the waist

    def read(self) -> Read | MemoryRead:
        self.refuse_closed()
        return MemoryRead(self) if self.memory else Read(self)

    def write(self, *, hard: bool = False) -> Write:
        self.refuse_closed()
        return Write(self, self._hard if hard else self._soft)

    def insert(self, query: Query, params: Sequence[Any]) -> int:
        if self._closed or self._forks != _forks:
            self.refuse_closed()
        deadline = monotonic() + self.timeout
        group = self.enter(deadline, self._soft)
        if group is not None or self.is_shared(self._soft):
            with Write(self, self._soft).entered(group, deadline) as tx:
                tx.all_values(query, *params)
                return self._writer.changes()
        try:
            try:
                self.cursor.execute(query.text, params)
            except apsw.BusyError:
                self.patiently(query.text, params, deadline)
            return self._writer.changes()
        except TRANSLATED as error:
            self.explain(error)
        finally:
            self.leave()

    def append_all(self, rows: Sequence[ChunkRow]) -> list[int]:
        if len(rows) == 1:
            ((chunk, part),) = rows
            if part is None:
                return [self.insert(Q.append_chunk, chunk)]
        with self.write() as tx:
            return [tx.append(chunk, part) for chunk, part in rows]

    def watch(self) -> Watch:
        self.refuse_closed()
        return Watch(self)

    def query(self, text: str) -> tuple[list[str], Iterator[Row]]:
        """A person's own SELECT: column names and rows. Whatever it says, it cannot change or open anything."""
        self.refuse_closed()
        if self.memory:
            raise BadValue("a store in memory cannot be queried beside itself")
        return ask(connect(self.name, apsw.SQLITE_OPEN_READONLY), text)

    def close(self) -> None:
        if self._closed or self._forks != _forks:
            self._closed = True
            return
        with self._lock:
            if self._group is not None:
                self._finish(self._group, release=False)
            self._closed = True
            for reader in self._readers:
                reader.close()
            self.cursor.close(True)
            stranger = self._files.stranger()
            if stranger is not None:
                self._writer.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._writer.close()
            if self._queue:
                self._queue.close()
        if stranger is not None:
            raise StoreGone(self.name, stranger)

    # ------------------------------------------------------------ opening

    def _open_writer(self) -> apsw.Connection:
        connection = None
        try:
            connection = connect(self.name, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
            if connection.readonly("main") and os.access(self.name, os.W_OK):
                raise StoreError(f"{self.name} could not be opened for writing just now; try again")
            self._refuse_unfit(connection)  # what is refused gets no file of ours beside it
            self._queue = None if self.memory else self._open_queue()
            self._set_up(connection)
            return connection
        except apsw.Error as error:
            if connection:
                connection.close()
            raise explain(error, self.name, self.timeout, opening=True) from error
        except BaseException:
            if connection:
                connection.close()
            raise

    def _refuse_unfit(self, connection: apsw.Connection) -> None:
        if migrate.is_current(connection, self.name):
            return
        if not self._create:
            migrate.refuse_strangers(connection, self.name)
        if migrate.version_of(connection) == 0:
            from .. import shape  # only a file that is not ours yet is looked at so closely

            shape.refuse_misfits(connection)

    def _open_queue(self) -> WritersLine:
        filesystem.refuse_link(self.name + "-owners")
        try:
            return WritersLine(self.name + "-queue")
        except OSError as error:
            raise told(error, self.name + "-queue") from None

    def _set_up(self, connection: apsw.Connection) -> None:
        """The first process to open the file creates the schema; the others wait for it in line."""
        connection.execute("PRAGMA synchronous=NORMAL").fetchall()
        connection.execute(f"PRAGMA journal_size_limit={checkpoint.LARGEST}").fetchall()
        if not migrate.is_current(connection, self.name):
            with self._in_line():
                connection.execute(f"PRAGMA page_size={checkpoint.PAGE_SIZE}").fetchall()
                migrate.migrate(connection, self.name)
        intruders.refuse(connection, self.name)
        if not self.memory and connection.execute("PRAGMA journal_mode").fetchall() != [("wal",)]:
            with self._in_line():
                connection.execute("PRAGMA journal_mode=WAL").fetchall()
        self._go_to_work(connection)

    def _go_to_work(self, connection: apsw.Connection) -> None:
        connection.execute("PRAGMA schema_version").fetchall()  # from its first read on, the log is there, and stays
        connection.set_busy_timeout(0)  # from here on `patiently` waits, in line, and to the caller's deadline
        self._files = Files(self.name)
        self._log = WriteAheadLog(connection)

    @contextmanager
    def _in_line(self) -> Iterator[None]:
        if self._queue and not self._queue.acquire(self.timeout):
            raise StoreBusy(self.name, holder(self.name), self.timeout)
        try:
            yield
        finally:
            if self._queue:
                self._queue.release()

    def refuse_closed(self) -> None:
        if self._forks != _forks:
            raise StoreClosed.by_fork()
        if self._closed:
            raise StoreClosed("this store is closed; open it again")

    # ------------------------------------------------------------ one writer at a time

    def enter(self, deadline: float, level: int = NORMAL) -> Group | None:
        """Take the engine's lock. If a group is open, the caller joins it; else this process is at the front of the
        line, and `synchronous` is at `level`."""
        if self._lock._is_owned():  # type: ignore[attr-defined]
            self._take_back()
        if not self._lock.acquire(False):
            self._wait_in_line(deadline)
        if self._group is not None:
            self._group.members += 1
            return self._group
        try:
            if self._closed:
                self.refuse_closed()
            if self._queue and self._queue.enter(deadline):
                self._files.refuse_others()
        except BaseException:
            try:
                if self._queue:
                    self._queue.let_go()
            finally:
                self._lock.release()
            raise
        try:
            if self._is_doubtful and os.access(self.name, os.W_OK):
                self._connect_anew()
            if level != self._level:
                self._sync(level)
        except BaseException as error:
            self.leave()
            if isinstance(error, apsw.Error):
                self.explain(error)
            raise
        return None

    def _take_back(self) -> None:
        """This thread has the lock already: a signal cut its last transaction off before the end of it could run."""
        group, self._group = self._group, None
        try:
            if self.in_transaction:
                self.roll_back()
        finally:
            try:
                if self._queue:
                    self._queue.let_go()
            finally:
                while self._lock._is_owned():  # type: ignore[attr-defined]
                    self._lock.release()
                if group is not None:
                    group.end(StoreError("the commit was interrupted"))

    def _connect_anew(self) -> None:
        """SQLite opens a file read-only when it cannot be opened for writing for a moment, and keeps it so: reopen."""
        while self._readers:
            self._readers.pop().close()
        self.cursor.close(True)
        self._writer.close()
        self._writer = connect(self.name, apsw.SQLITE_OPEN_READWRITE)
        self.cursor, self._level = self._writer.cursor(), NORMAL
        for pragma in ("synchronous=NORMAL", f"journal_size_limit={checkpoint.LARGEST}"):
            self._writer.execute(f"PRAGMA {pragma}").fetchall()
        self._go_to_work(self._writer)
        self._is_doubtful = False

    def _wait_in_line(self, deadline: float) -> None:
        me = object()
        self._line[me] = None
        try:
            if not self._lock.acquire(timeout=max(0.0, deadline - monotonic())):
                raise StoreBusy(self.name, "another thread of this process", self.timeout)
        finally:
            del self._line[me]

    def leave(self, *, wrote: bool = True) -> None:
        self.writes += wrote
        try:
            self._log.look_after()
        finally:
            try:
                if self._queue:
                    self._queue.leave()
            finally:
                self._lock.release()
        if self._watchers:
            self.wake_watchers()

    def wake_watchers(self) -> None:
        with self._written:
            self._written.notify_all()

    def wait_for_writer(self, seconds: float) -> None:
        """Wait until a writer of this process is done, or for that long."""
        with self._written:
            self._watchers += 1
            self._written.wait(seconds)
            self._watchers -= 1

    def _sync(self, level: int) -> None:
        """`synchronous` is refused inside a transaction, so it is set before one; it stays as it is."""
        self.cursor.execute(f"PRAGMA synchronous={level}")
        self._level = level

    def patiently(self, text: str, params: Sequence[Any], deadline: float) -> list[Row]:
        """Run a statement, and retry it while another process has SQLite's lock, until the deadline."""
        tries = 0
        while True:
            try:
                return self.cursor.execute(text, params).fetchall()
            except apsw.BusyError:
                if monotonic() > deadline or self._queue is None:
                    raise StoreBusy(self.name, holder(self.name), self.timeout) from None
                self._queue.wait(deadline, tries)
                tries += 1

    # ------------------------------------------------------------ commits that share an fsync

    @property
    def in_transaction(self) -> bool:
        return self._writer.in_transaction

    def is_shared(self, level: int) -> bool:
        """A commit needs an fsync, and another thread waits that could use the same one."""
        return level == FULL and bool(self._line)

    def open_group(self, generation: int) -> Group:
        self._group = Group(generation)
        return self._group

    def pass_on(self, group: Group, error: BaseException | None) -> None:
        """A member is done: the next thread goes on, or this one commits. An `error` that rolled back the whole
        transaction ends the group for all its members."""
        if not self.in_transaction:
            self._end_group(group, error if isinstance(error, Exception) else StoreError("the commit was interrupted"))
        elif self._line and not group.is_full:
            self._lock.release()
        else:
            self._finish(group)

    def roll_back(self, text: str = "ROLLBACK") -> None:
        """With a new cursor: the old one may be in the middle of a text that was interrupted."""
        self.cursor.close(True)
        self.cursor = self._writer.cursor()
        if self.in_transaction:
            self.cursor.execute(text)

    def _finish(self, group: Group, *, release: bool = True) -> None:
        failure: Exception | None = StoreError("the commit was interrupted")  # in doubt, nothing was kept
        try:
            self.cursor.execute("COMMIT")
            failure = None
        except Exception as error:
            failure = error
        finally:
            if self.in_transaction:
                self.roll_back()
            self._end_group(group, failure, release=release)

    def _end_group(self, group: Group, error: Exception | None, *, release: bool = True) -> None:
        self._group = None
        try:
            if release:
                self.leave()
        finally:
            group.end(error)

    def await_group(self, group: Group) -> Exception | None:
        """How the commit ended. If the thread that was to commit gave up, this one does."""
        while not group.has_ended():
            if self._lock.acquire(False):
                if self._group is group:
                    self._finish(group)
                else:
                    self._lock.release()
        return group.error

    def check_schema(self, generation: int) -> None:
        """Another connection committed since the last check: it may have been a newer Palaver's migration."""
        if generation != self._checked:
            migrate.is_current(self._writer, self.name)
            for name, (value, default) in self._expected.items():
                found = self._writer.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchall()
                if (found or [(default,)]) != [(value,)]:
                    raise StoreError(f"another process changed what {self.name} keeps ({name}); open it again")
            self._checked = generation

    def expect_setting(self, name: str, value: str, default: str) -> None:
        """A setting of the store that this process was opened under: if it changes, writes are refused."""
        self._expected[name] = (value, default)

    def borrow(self) -> apsw.Connection:
        try:
            return self._readers.pop()
        except IndexError:
            pass
        connection = connect(self.name, apsw.SQLITE_OPEN_READWRITE)
        connection.execute("PRAGMA query_only=ON").fetchall()
        return connection

    def give_back(self, connection: apsw.Connection) -> None:
        if self._closed and self._forks == _forks:
            connection.close()
        else:
            self._readers.append(connection)

    def explain(self, error: Exception) -> NoReturn:
        if isinstance(error, apsw.ReadOnlyError):
            self._is_doubtful = True
        raise explain(error, self.name, self.timeout) from (error if isinstance(error, apsw.Error) else None)


def _levels(durability: str, *, memory: bool) -> tuple[int, int]:
    """How chunks and boundaries are committed."""
    if not isinstance(durability, str) or durability not in _LEVELS:
        raise BadValue(f"durability is boundary, full or normal, not {arguments.shown(durability)}")
    return (NORMAL, NORMAL) if memory else _LEVELS[durability]


def _refuse_old_sqlite() -> None:
    version = tuple(int(n) for n in apsw.sqlite_lib_version().split("."))
    if version < _SAFE_SQLITE:
        raise StoreError(
            f"SQLite {apsw.sqlite_lib_version()} can lose commits in WAL mode; "
            f"install apsw with SQLite {'.'.join(map(str, _SAFE_SQLITE))} or newer"
        )
