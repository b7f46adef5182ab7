"""A SQLite store that is opened to be read, and only that: no place in the line, no owner, no recovery, no adoption.

Each read is a snapshot. Where a copy of the file is read (see source.py), each read first checks whether another
process wrote to the file, and copies it again if so.
"""

from __future__ import annotations

import os
import threading

import apsw

from ...errors import BadValue, StoreClosed, StoreError
from ..refusal import refusal
from . import source
from .connect import ask
from .errors import explain
from .liveness import Onlooker
from .lock_table import holder
from .transactions import Read
from .watch import FileWatch, Watch

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, NoReturn

    from ..engine import ChunkRow, Row
    from ..queries import Query


class ReadOnlyDatabase:
    """One file, and the connections of this process that read it."""

    longest_key: int | None = None
    readonly = True
    memory = False
    writes = 0

    def __init__(self, path: str, *, timeout: float = 30.0) -> None:
        if path == ":memory:":
            raise BadValue("a store in memory begins empty: with readonly=True there would never be anything to read")
        self.name = path
        self.timeout = timeout
        self._pid = os.getpid()
        self._closed = threading.Event()
        self._guard = threading.Lock()
        self._source, first = source.find(path, timeout)
        self._idle = [first]
        self._lent: dict[apsw.Connection, source.Source] = {}
        self.notes = [self._source.note] if self._source.note else []
        self.life = Onlooker(path + "-owners")

    # ------------------------------------------------------------ the waist

    def read(self) -> Read:
        self.refuse_closed()
        return Read(self)

    def write(self, *, hard: bool = False) -> NoReturn:
        self.refuse_closed()
        raise refusal()

    def insert(self, query: Query, params: Sequence[Any]) -> NoReturn:
        self.write()

    def append_all(self, rows: Sequence[ChunkRow]) -> NoReturn:
        self.write()

    def watch(self) -> Watch:
        self.refuse_closed()
        return Watch(self) if self._source.is_in_place else FileWatch(self)

    def query(self, text: str) -> tuple[list[str], Iterator[Row]]:
        """A person's own SELECT: column names and rows."""
        self.refuse_closed()
        with self._guard:
            self._look()
            asked = self._source
            connection = asked.connect()
        columns, rows = ask(connection, text)
        return columns, self._believed(asked, rows)

    def close(self) -> None:
        """A forked child leaves the files to its parent: closing one would drop its locks."""
        self._closed.set()
        if os.getpid() != self._pid:
            return
        with self._guard:
            self._let_go()

    def expect_setting(self, name: str, value: str, default: str) -> None:
        """A setting matters to writes, and there are none."""

    def refuse_closed(self) -> None:
        if os.getpid() != self._pid:
            raise StoreClosed.by_fork()
        if self._closed.is_set():
            raise StoreClosed("this store is closed; open it again")

    # ------------------------------------------------------------ what readers and watchers ask for

    def borrow(self) -> apsw.Connection:
        with self._guard:
            self._look()
            connection = self._idle.pop() if self._idle else self._source.connect()
            self._lent[connection] = self._source
            return connection

    def give_back(self, connection: apsw.Connection) -> None:
        """Another thread may have found a newer source meanwhile: a read is judged by the source that it read."""
        with self._guard:
            lent = self._lent.pop(connection)
            if lent is self._source and not self._closed.is_set():
                self._idle.append(connection)
            else:
                connection.close()
        self._refuse_torn(lent)

    def wait_for_writer(self, seconds: float) -> None:
        self._closed.wait(seconds)

    def wake_watchers(self) -> None:
        """There is no writer here that they wait for: they look within milliseconds."""

    def stamp(self) -> int:
        """A number that changes when a process writes to the store's files."""
        self.refuse_closed()
        return hash(source.stamp(self.name))

    def explain(self, error: Exception) -> NoReturn:
        said = explain(error, self.name, self.timeout, holder=holder(self.name), reading=True)
        raise said from (error if isinstance(error, apsw.Error) else None)

    def _believed(self, asked: source.Source, rows: Iterator[Row]) -> Iterator[Row]:
        """Rows of a file that changed while it was read are refused; also where SQLite failed because of that."""
        try:
            yield from rows
        except BadValue:
            self._refuse_torn(asked)
            raise
        self._refuse_torn(asked)

    def _refuse_torn(self, used: source.Source) -> None:
        if used.is_torn():
            raise StoreError(f"{self.name} was written while it was read; read it again")

    def _look(self) -> None:
        """If a process wrote to a store that is not read in place, read what is there now."""
        if self._source.has_changed():
            found, first = source.find(self.name, self.timeout)
            self._let_go()
            self._source, self._idle = found, [first]

    def _let_go(self) -> None:
        while len(self._idle) > 1:
            self._idle.pop().close()
        if self._idle:
            self._source.end(self._idle.pop())
        self._source.let_go()
