"""The Postgres engine: a few connections to one server, and one schema on it that is this store's space.

Writers are kept apart by the lock of the session's head, not by one line for all. Chunks of all streams of a process
share transactions (`combining`). A lost connection is replaced; what it was committing is asked for.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NoReturn

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import StrDumper

from ...clock import monotonic, now_ms
from ...errors import BadValue, StoreBusy, StoreClosed, StoreError, StoreUnavailable
from ..combining import Combiner, Request
from ..database import ChunkRow, Row
from ..migrate import VERSION
from ..queries import Q, Query
from . import spaces
from .dialect import Dialect, append_chunks
from .explaining import TRANSLATED, explain, is_lost
from .leases import Leases
from .pipeline import Pipeline, Step
from .settings import Settings
from .transactions import LIFE, Read, Write
from .watching import Watch

_OLDEST = 150_000
_IDLE = 8  # connections that are kept when nobody uses them
_AGE = 600.0  # seconds after which a connection is replaced: a backend's memory grows with the schemas it has seen
_NOTIFY_EVERY = 0.01  # seconds between two hints of a stream
_NO = ("authentication", "does not exist", "no password", "could not translate", "failed to resolve")
_LEVELS = {"boundary": ("off", "on"), "full": ("on", "on"), "normal": ("off", "off")}


class PostgresDatabase:
    """One space on one server, and the connections of this process to it."""

    def __init__(
        self,
        dsn: str,
        space: str = "default",
        *,
        create: bool = True,
        durability: str = "boundary",
        timeout: float = 30.0,
        lease: float = 45.0,
        pooler: bool = False,
    ) -> None:
        if durability not in _LEVELS:
            raise ValueError(f"durability is boundary, full or normal, not {durability!r}")
        self.name = f"{_without_secrets(dsn)} ({space})"
        self.timeout = timeout
        self.patience = 2 * timeout + 5  # the server gives up first
        self.has_pooler = pooler
        self.dialect = Dialect()
        self._dsn = dsn
        self._wanted = conninfo_to_dict(dsn).get("target_session_attrs") or "read-write"  # of several hosts, the leader
        self._soft, self._hard = _LEVELS[durability]
        self._pid = os.getpid()
        self._closed = threading.Event()
        self._guard = threading.Lock()
        self._idle: list[tuple[Pipeline, float]] = []
        self._expected: dict[str, tuple[str, str]] = {}
        self._combiner = Combiner(self._carry_out)
        self._notified = 0.0
        self._settings: Settings | None = None
        connection = self.connect()
        try:
            self.schema = self._open(connection, space, create)
            self._set_up(pooler)
            self._give(self._as_link(connection))
        except BaseException:
            connection.close()
            raise
        self.life = Leases(self, lease)

    def _set_up(self, pooler: bool) -> None:
        """The texts that carry the schema's name."""
        settings = self._settings = Settings(f'"{self.schema}"', self.timeout, self._soft, pooler=pooler)
        self._reading = settings.of_reading()
        self._writing = {
            (level, hint): settings.of_writing(level, self.schema if hint else None)
            for level in ("on", "off")
            for hint in (True, False)
        }
        self._append_chunks = append_chunks(f'"{self.schema}"')
        self._append_chunks_and_parts = append_chunks(f'"{self.schema}"', parts=True)
        self.channel = self.schema

    # ------------------------------------------------------------ the waist

    def read(self) -> AbstractContextManager[Read]:
        self.refuse_closed()
        return Read(self)

    def write(self, *, hard: bool = False) -> AbstractContextManager[Write]:
        self.refuse_closed()
        return Write(self, self._hard if hard else self._soft, hard=hard)

    def insert(self, query: Query, params: Sequence[Any]) -> int:
        self.refuse_closed()
        assert query is Q.append_chunk, query
        request = Request(query, tuple(params))
        if not self._combiner.submit(request, self.timeout):
            raise StoreBusy(self.name, "another thread of this process", self.timeout)
        if request.error is not None:
            raise request.error
        return request.changes

    def append_all(self, rows: Sequence[ChunkRow]) -> list[int]:
        self.refuse_closed()
        try:
            return self._append_all(rows)
        except Exception as error:
            raise self._failure(error) from error

    def watch(self) -> AbstractContextManager[Watch]:
        self.refuse_closed()
        return Watch(self)

    def query(self, text: str) -> tuple[list[str], Iterator[Row]]:
        """A person's own SELECT: column names and rows. Whatever it says, it cannot change anything."""
        self.refuse_closed()
        connection = self.connect()
        try:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.execute(self._reading)
            cursor = connection.cursor()
            cursor.execute(text, prepare=True)  # which takes one statement, and no other behind it
            if cursor.description is None:
                raise BadValue("cannot run this: it does not answer with rows")
        except psycopg.Error as error:
            connection.close()
            raise BadValue(f"cannot run this: {str(error).splitlines()[0]}") from None
        except BaseException:
            connection.close()
            raise
        return [column.name for column in cursor.description], _closing(connection, cursor)

    def close(self) -> None:
        self._closed.set()
        with self._guard:
            idle, self._idle = self._idle, []
        if os.getpid() == self._pid:
            for link, _ in idle:
                link.connection.close()

    def expect_setting(self, name: str, value: str, default: str) -> None:
        """A setting of the store that this process was opened under: if it changes, writes are refused."""
        self._expected[name] = (value, default)

    def check(self, version: int | None, events: str | None) -> None:
        """What every write looks at first: a newer Palaver may have migrated, or changed what is kept."""
        if version != VERSION:
            spaces.refuse_version(self.name, version or 0)
        value, default = self._expected.get("events", ("", ""))
        if value and (events or default) != value:
            raise StoreError(f"another process changed what {self.name} keeps (events); open it again")

    def refuse_closed(self) -> None:
        if os.getpid() != self._pid:
            raise StoreClosed("this store was opened before fork(); open it again in the child process")
        if self._closed.is_set():
            raise StoreClosed("this store is closed; open it again")

    # ------------------------------------------------------------ connections

    def connect(self) -> psycopg.Connection[Row]:
        """A new connection. While the server is away it is tried again, until the timeout."""
        deadline = monotonic() + self.timeout
        while True:
            try:
                return self._connect()
            except psycopg.Error as error:
                if not is_lost(error) or _is_hopeless(error) or monotonic() > deadline or self._closed.is_set():
                    raise explain(error, self.name, self.timeout) from None
            self.nap(0.02 + random.random() / 20)

    def _connect(self) -> psycopg.Connection[Row]:
        connection: psycopg.Connection[Row] = psycopg.connect(
            self._dsn,
            autocommit=True,
            prepare_threshold=None if self.has_pooler else 5,
            connect_timeout=max(2, round(min(self.timeout, 10))),
            application_name="palaver",
            client_encoding="utf8",
            target_session_attrs=self._wanted,
        )
        connection.adapters.register_dumper(int, Int8Dumper)  # one type, one plan
        connection.adapters.register_dumper(str, StrDumper)
        return connection

    def settings(self, level: str | None = None, *, hint: bool = False) -> Step:
        """The first statement of a transaction."""
        return (self._reading if level is None else self._writing[level, hint]), ()

    def nap(self, seconds: float) -> None:
        self._closed.wait(seconds)

    def link(self) -> Pipeline:
        return self._as_link(self.connect())

    def _as_link(self, connection: psycopg.Connection[Row]) -> Pipeline:
        """A connection that is ready for transactions."""
        try:
            if self._settings is not None and not self.has_pooler:
                connection.execute(self._settings.at_connect())
            row = connection.execute(LIFE).fetchone()
        except psycopg.Error as error:
            connection.close()
            self.explain(error)
        return Pipeline(connection, prepares=not self.has_pooler, life=str(row and row[0]))

    def borrow(self) -> Pipeline:
        while True:
            with self._guard:
                if not self._idle:
                    break
                link, since = self._idle.pop()
            if not link.connection.closed and monotonic() - since < _AGE:
                return link
            link.connection.close()
        return self.link()

    def end(self, link: Pipeline) -> None:
        """Whatever it was in the middle of is taken back."""
        connection = link.connection
        if connection.closed:
            return
        try:
            if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.execute("ROLLBACK")
        except psycopg.Error:
            connection.close()
            return
        self._give(link)

    def _give(self, link: Pipeline) -> None:
        with self._guard:
            if len(self._idle) < _IDLE and not self._closed.is_set():
                self._idle.append((link, monotonic()))
                return
        link.connection.close()

    def outcome_of(self, number: str, life: str) -> str | None:
        """committed or aborted, as the server remembers a transaction; None: it cannot say. After a crash (`life` is
        another) a number that was lost with it may be somebody else's."""
        deadline = monotonic() + self.timeout
        while True:
            status, now = self._status_of(number)
            if status == "committed":
                return status if now == life else None
            if status != "in progress" or monotonic() > deadline:
                return "aborted" if status == "aborted" else None
            self.nap(0.02)

    def _status_of(self, number: str) -> tuple[str | None, str | None]:
        try:
            with self.connect() as connection:
                text = f"SELECT pg_xact_status(%s::text::xid8), ({LIFE})"
                row = connection.execute(text, (number,)).fetchone()
                if row is not None and row[0] == "committed":
                    self._confirm(connection)
        except psycopg.errors.InvalidParameterValue:  # a number that is yet to be given out: the crash took ours
            return "aborted", None
        except (psycopg.Error, StoreError):
            return "in progress", None
        return (row[0], row[1]) if row is not None else (None, None)

    def _confirm(self, connection: psycopg.Connection[Row]) -> None:
        """Committed is what the server says of its own disk. Standbys that are to confirm a commit confirm this one,
        which comes later, and with it everything before."""
        note = (
            f'INSERT INTO "{self.schema}".settings (name, value) VALUES ($1, $2)'
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        )
        steps: list[Step] = [("BEGIN", ()), self.settings("on"), (note, ("confirmed", str(now_ms()))), ("COMMIT", ())]
        Pipeline(connection, prepares=False, life="").send(steps, self.timeout)

    def explain(self, error: Exception) -> NoReturn:
        raise explain(error, self.name, self.timeout) from error

    # ------------------------------------------------------------ streams

    def _carry_out(self, batch: list[Request]) -> None:
        """Chunks of several threads, one transaction, one round trip."""
        try:
            changes = self._append_all([(request.params, None) for request in batch])
        except Exception as error:
            failure = self._failure(error)
            for request in batch:
                request.end(0, failure)
            return
        for request, count in zip(batch, changes, strict=True):
            request.end(count)

    def _failure(self, error: Exception) -> Exception:
        if is_lost(error):
            return StoreUnavailable(f"{self.name} was lost while a chunk was written; it is looked for")
        return explain(error, self.name, self.timeout) if isinstance(error, TRANSLATED) else error

    def _append_all(self, rows: Sequence[ChunkRow]) -> list[int]:
        steps = [self._appending(rows)]
        hint = self.is_hint_due()
        if self.has_pooler or hint:
            steps = [("BEGIN", ()), self.settings(self._soft, hint=hint), *steps, ("COMMIT", ())]
        taken = self._insert(steps)
        return [int((chunk[0], chunk[1]) in taken) for chunk, _ in rows]

    def _appending(self, rows: Sequence[ChunkRow]) -> Step:
        columns = [list(column) for column in zip(*(chunk for chunk, _ in rows), strict=True)]
        parts = [(*chunk[:2], *part) for chunk, part in rows if part is not None]
        if not parts:
            return self._append_chunks, columns
        return self._append_chunks_and_parts, columns + [list(column) for column in zip(*parts, strict=True)]

    def _insert(self, steps: list[Step]) -> set[Row]:
        link = self.borrow()
        try:
            results = link.send(steps, self.patience)
            return set(results[0 if len(steps) == 1 else 2].rows())
        finally:
            self.end(link)

    def is_hint_due(self) -> bool:
        now = monotonic()
        if now - self._notified < _NOTIFY_EVERY:
            return False
        self._notified = now
        return True

    # ------------------------------------------------------------ opening

    def _open(self, connection: psycopg.Connection[Row], space: str, create: bool) -> str:
        if connection.info.server_version < _OLDEST:
            raise StoreError(f"{self.name} is Postgres {connection.info.server_version // 10_000}; 15 is the oldest")
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise StoreError(f"{self.name} keeps text as {encoding}; make a database with ENCODING 'UTF8'")
        try:
            return spaces.open_space(connection, self.name, space, create=create)
        except psycopg.Error as error:
            self.explain(error)


def _is_hopeless(error: psycopg.Error) -> bool:
    """The server is there and says no: waiting does not help."""
    text = str(error)
    return any(word in text for word in _NO)


def _without_secrets(dsn: str) -> str:
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.Error:
        raise BadValue("this is not a Postgres address; postgresql://user@host/database is one") from None
    hosts = str(parts.get("host") or parts.get("hostaddr") or "localhost").split(",")
    ports = str(parts.get("port") or "").split(",") if len(hosts) > 1 else [""]
    where = ",".join(f"{host}:{port}" if port else host for host, port in zip(hosts, ports * len(hosts), strict=False))
    return f"postgresql://{where}/{parts.get('dbname') or ''}"


def _closing(connection: psycopg.Connection[Row], cursor: psycopg.Cursor[Row]) -> Iterator[Row]:
    try:
        yield from cursor
    finally:
        connection.close()
