"""The connections of one process to one server: a few are kept, a lost one is replaced."""

from __future__ import annotations

import random
import threading

import psycopg

from ...base.clock import monotonic
from ..engine import Row
from .address import Address
from .errors import explain, is_hopeless, is_lost
from .nodes import Node, node_of
from .pipeline import Pipeline
from .settings import Settings

_IDLE = 8  # connections that are kept when nobody uses them
_AGE = 600.0  # seconds after which a connection is replaced: a backend's memory grows with the schemas it has seen


class Pool:
    """`settings` is what every connection is prepared with, once it is known."""

    def __init__(self, address: Address, name: str, timeout: float, *, pooler: bool) -> None:
        self._address = address
        self._name = name
        self._timeout = timeout
        self._has_pooler = pooler
        self._closed = threading.Event()
        self._guard = threading.Lock()
        self._idle: list[tuple[Pipeline, float]] = []
        self.settings: Settings | None = None

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

    def connect(self, *, once: bool = False) -> psycopg.Connection[Row]:
        """A new connection. While the server is away it is tried again, until the timeout; or once."""
        deadline = monotonic() + (0 if once else self._timeout)
        while True:
            try:
                return self._address.connect(self._timeout)
            except psycopg.Error as error:
                if not is_lost(error) or is_hopeless(error) or monotonic() > deadline or self.is_closed:
                    raise explain(error, self._name, self._timeout) from None
            self.pause()

    def pause(self) -> None:
        """Sleep before the next try, for a random time so that processes do not retry in step."""
        self.nap(0.02 + random.random() / 20)

    def nap(self, seconds: float) -> None:
        """Sleep for that long, or until the pool is closed."""
        self._closed.wait(seconds)

    def link(self) -> Pipeline:
        return self.as_link(self.connect())

    def as_link(self, connection: psycopg.Connection[Row], node: Node | None = None) -> Pipeline:
        """A connection that is ready for transactions; `node`: the server it leads to, if that is known."""
        try:
            if self.settings is not None and not self._has_pooler:
                connection.execute(self.settings.at_connect().encode())
            if node is None:
                node, _ = node_of(connection)
        except psycopg.Error as error:
            connection.close()
            raise explain(error, self._name, self._timeout) from error
        return Pipeline(connection, prepares=not self._has_pooler, node=node)

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

    def give_back(self, link: Pipeline) -> None:
        """An open transaction is rolled back."""
        if _is_idle(link.connection):
            self.keep(link)

    def renewed(self, link: Pipeline) -> Pipeline:
        """The same connection, if its server is there and only a node behind it was lost; else a new one."""
        return link if _is_idle(link.connection) else self.link()

    def keep(self, link: Pipeline) -> None:
        with self._guard:
            if len(self._idle) < _IDLE and not self.is_closed:
                self._idle.append((link, monotonic()))
                return
        link.connection.close()

    def close(self, *, hang_up: bool) -> None:
        """`hang_up`: not in a forked child, whose connections are the parent's."""
        self._closed.set()
        with self._guard:
            idle, self._idle = self._idle, []
        for link, _ in idle if hang_up else ():
            link.connection.close()


def _is_idle(connection: psycopg.Connection[Row]) -> bool:
    """The connection is usable, with an open transaction rolled back. False: it is lost."""
    if connection.closed:
        return False
    try:
        if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            connection.execute("ROLLBACK")
    except psycopg.Error:
        connection.close()
        return False
    return True
