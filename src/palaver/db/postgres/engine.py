"""The Postgres engine: a few connections to one server, and one schema on it that is this store's space.

Writers of one session are kept apart by the lock of its head; there is no line for all. Chunks of all streams of a
process share transactions (`streams`). A lost connection is replaced, and the server is asked how the transaction ended
that was being committed on it (`outcome`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import partial
from typing import Any, NoReturn

import psycopg

from ...base import arguments
from ...base.clock import monotonic
from ...base.exact_json import LONGEST_KEY
from ...errors import BadValue, StoreClosed, StoreError
from ..engine import ChunkRow, Row
from ..migrate import VERSION
from ..queries import Q, Query
from ..refusal import refusal
from . import intruders, spaces
from .address import Address
from .dialect import Dialect
from .errors import explain, is_lost
from .leases import Leases
from .nodes import node_of
from .pipeline import Step
from .pool import Pool
from .settings import Settings
from .streams import Streams
from .transactions import Read, Write, looking
from .watch import Watch

_OLDEST = 150_000
_ROWS = 1000  # of an answer to a person, that are fetched at once
_NOTIFY_EVERY = 0.01  # seconds between two hints of a stream
_LEVELS = {"boundary": ("off", "on"), "full": ("on", "on"), "normal": ("off", "off")}


class PostgresDatabase:
    """One space on one server, and the connections of this process to it."""

    longest_key: int | None = LONGEST_KEY

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
        readonly: bool = False,
    ) -> None:
        if not isinstance(durability, str) or durability not in _LEVELS:
            raise BadValue(f"durability is boundary, full or normal, not {arguments.shown(durability)}")
        address = Address(dsn, readonly=readonly)
        self.name = f"{address.name} ({space})"
        self.timeout = timeout
        self.patience = 2 * timeout + 5  # the server gives up first
        self.has_pooler = pooler
        self.readonly = readonly
        self.notes: list[str] = []
        self.dialect = Dialect()
        self._soft, self._hard = _LEVELS[durability]
        self._pid = os.getpid()
        self._expected: dict[str, tuple[str, str]] = {}
        self._notified = 0.0
        self._version: int | None = VERSION  # the last that was found to take what we write
        self.pool = Pool(address, self.name, timeout, pooler=pooler)
        self.schema = self.channel = self._open(space, create)
        self._streams = Streams(self, self._soft)
        self.life = Leases(self, lease)

    # ------------------------------------------------------------ the waist

    def read(self) -> AbstractContextManager[Read]:
        self.refuse_closed()
        return Read(self)

    def write(self, *, hard: bool = False) -> AbstractContextManager[Write]:
        self.refuse_writing()
        return Write(self, self._hard if hard else self._soft, hard=hard)

    def insert(self, query: Query, params: Sequence[Any]) -> int:
        self.refuse_writing()
        assert query is Q.append_chunk, query
        return self._streams.append(tuple(params))

    def append_all(self, rows: Sequence[ChunkRow]) -> list[int]:
        self.refuse_writing()
        return self._streams.append_all(rows)

    def watch(self) -> AbstractContextManager[Watch]:
        self.refuse_closed()
        return Watch(self)

    def query(self, text: str) -> tuple[list[str], Iterator[Row]]:
        """A person's own SELECT: column names and rows. Whatever it says, it cannot change anything."""
        self.refuse_closed()
        with ExitStack() as stack, _as_asked():
            connection = stack.enter_context(closing(self.pool.connect()))
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.execute(self._asking.encode())
            cursor = stack.enter_context(closing(connection.cursor("asked")))  # one statement, and no other behind it
            cursor.itersize = _ROWS
            cursor.execute(text.encode())
            return [column.name for column in cursor.description or ()], _rows(stack.pop_all(), cursor)

    def close(self) -> None:
        self.pool.close(hang_up=os.getpid() == self._pid)

    def expect_setting(self, name: str, value: str, default: str) -> None:
        """A setting of the store that this process was opened under: if it changes, writes are refused."""
        self._expected[name] = (value, default)

    def check(self, version: int | None, events: str | None, writers_from: Callable[[], object]) -> None:
        """What every write checks first: a newer Palaver may have migrated, another process changed what is kept."""
        if version != self._version:
            spaces.refuse_version(self.name, version or 0, writers_from())
            self._version = version
        value, default = self._expected.get("events", ("", ""))
        if value and (events or default) != value:
            raise StoreError(f"another process changed what {self.name} keeps (events); open it again")

    def refuse_closed(self) -> None:
        if os.getpid() != self._pid:
            raise StoreClosed.by_fork()
        if self.pool.is_closed:
            raise StoreClosed("this store is closed; open it again")

    def refuse_writing(self) -> None:
        self.refuse_closed()
        if self.readonly:
            raise refusal()

    # ------------------------------------------------------------ what transactions ask for

    def opening(self, level: str, *, hint: bool = False) -> list[Step]:
        """The first statements of a write."""
        return self._writing[level, hint]

    def reading(self) -> Step:
        """The first statement of a read."""
        return self._reading, ()

    def explain(self, error: Exception) -> NoReturn:
        raise explain(error, self.name, self.timeout) from error

    def is_hint_due(self) -> bool:
        now = monotonic()
        if now - self._notified < _NOTIFY_EVERY:
            return False
        self._notified = now
        return True

    # ------------------------------------------------------------ opening

    def _open(self, space: str, create: bool) -> str:
        """The schema of the space. While a node of the server is away it is tried again, until the timeout."""
        deadline = monotonic() + self.timeout
        while True:
            connection = self.pool.connect()
            try:
                return self._open_on(connection, space, create)
            except BaseException as error:
                connection.close()
                if not isinstance(error, psycopg.Error):
                    raise
                if not is_lost(error) or monotonic() > deadline:
                    self.explain(error)
            self.pool.pause()

    def _open_on(self, connection: psycopg.Connection[Row], space: str, create: bool) -> str:
        """The connection that found it is kept."""
        self._refuse_server(connection)
        node, self.has_citus = node_of(connection)
        bring = spaces.find_space if self.readonly else partial(spaces.open_space, create=create)
        schema = bring(connection, self.name, space)
        intruders.refuse(connection, self.name, schema)
        self._set_up(schema)
        self.pool.keep(self.pool.as_link(connection, node))
        return schema

    def _refuse_server(self, connection: psycopg.Connection[Row]) -> None:
        if connection.info.server_version < _OLDEST:
            raise StoreError(f"{self.name} is Postgres {connection.info.server_version // 10_000}; 15 is the oldest")
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise StoreError(f"{self.name} keeps text as {encoding}; make a database with ENCODING 'UTF8'")

    def _set_up(self, schema: str) -> None:
        """The texts that carry the schema's name. On Citus every commit waits for the disk: a worker that crashed is
        connected to again without a word, and a stream would go on over what the crash took."""
        if self.has_citus:
            self._soft = self._hard = "on"
        settings = self.pool.settings = Settings(
            f'"{schema}"', self.timeout, self._soft, pooler=self.has_pooler, citus=self.has_citus
        )
        self.look = looking(names_node=self.has_pooler or self.has_citus)
        self._reading, self._asking = settings.of_reading(), settings.of_asking()
        self._writing: dict[tuple[str, bool], list[Step]] = {
            (level, hint): [
                (text, ())
                for text in (settings.of_writing(level, schema if hint else None), *settings.on_workers(level))
            ]
            for level in ("on", "off")
            for hint in (True, False)
        }


@contextmanager
def _as_asked() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise BadValue(f"cannot run this: {str(error).splitlines()[0]}") from None


def _rows(resources: ExitStack, cursor: psycopg.ServerCursor[Row]) -> Iterator[Row]:
    with resources, _as_asked():
        yield from cursor
