"""Several statements in one round trip, straight on libpq's pipeline: a cursor for each costs more than the server.

Every statement is prepared the first time a connection sees it with these types, in the same round trip. Behind a
pooler nothing is prepared: the next transaction may be on another server connection.
"""

from __future__ import annotations

import select
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import pq
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result

from ...base.clock import monotonic
from ..engine import Row
from .nodes import Node

Step = tuple[str, Sequence[Any]]

_TEXT, _INT, _REAL, _BYTES, _ANY = 25, 20, 701, 17, 0
_TEXTS, _INTS = 1009, 1016
_OK = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK, pq.ExecStatus.EMPTY_QUERY)


class Result:
    """What one statement gave."""

    __slots__ = ("_rows", "count")

    def __init__(self, rows: list[Row], count: int) -> None:
        self._rows = rows
        self.count = count  # of rows it changed, or gave

    def rows(self) -> list[Row]:
        return self._rows


class Pipeline:
    """A connection of ours, seen from below. It is used by one thread at a time."""

    def __init__(self, connection: psycopg.Connection[Row], *, prepares: bool, node: Node | None) -> None:
        self.connection = connection
        self.node = node  # the server that it leads to
        self._pgconn = connection.pgconn
        self._prepares = prepares
        self._names: dict[tuple[str, tuple[int, ...]], bytes] = {}
        self._named = 0
        self._transformer = Transformer(connection)

    def send(self, steps: Sequence[Step], patience: float) -> list[Result]:
        """The results, in order; the first error, if there was one."""
        pgconn = self._pgconn
        bound = [(text, *_bind(values)) for text, values in steps]
        results, failure, is_whole = list[Result](), None, False
        pgconn.enter_pipeline_mode()
        try:
            expected = [self._queue(*one) for one in bound]
            pgconn.pipeline_sync()
            results, failure = self._receive(expected, monotonic() + patience)
            pgconn.exit_pipeline_mode()
            is_whole = True
        finally:
            if not is_whole:  # interrupted (Ctrl-C, too), or lost: which results are still to come is not known
                self.connection.close()
        if failure is not None:
            raise failure
        return results

    def _queue(self, text: str, values: list[bytes | None], types: tuple[int, ...], formats: list[int]) -> int:
        """How many results come of it before its own."""
        pgconn = self._pgconn
        if not self._prepares:
            pgconn.send_query_params(text.encode(), values, types, formats, pq.Format.TEXT)
            return 0
        name = self._names.get((text, types))
        if name is not None:
            pgconn.send_query_prepared(name, values, formats, pq.Format.TEXT)
            return 0
        self._named += 1
        name = self._names[text, types] = b"p%d" % self._named
        pgconn.send_prepare(name, text.encode(), types)
        pgconn.send_query_prepared(name, values, formats, pq.Format.TEXT)
        return 1

    def _receive(self, expected: list[int], deadline: float) -> tuple[list[Result], psycopg.Error | None]:
        """Everything up to the sync."""
        results: list[Result] = []
        failure: psycopg.Error | None = None
        for before in expected:
            for _ in range(before):
                failure = failure or self._error_of(self._next(deadline))
                self._next_is_nothing(deadline)
            result = self._next(deadline)
            error = self._error_of(result)
            failure = failure or error
            results.append(self._read(result) if error is None else Result([], 0))
            self._next_is_nothing(deadline)
        self._next(deadline)  # the sync
        if failure is not None:
            self._names.clear()  # what was to be prepared after it is not; the others get a new name
        return results, failure

    def _next(self, deadline: float) -> Any:
        result = self._result(deadline)
        if result is None:
            raise psycopg.OperationalError("the server answered less than it was asked")
        return result

    def _next_is_nothing(self, deadline: float) -> None:
        """Between the results of two statements of a pipeline libpq gives one NULL."""
        while self._result(deadline) is not None:
            pass

    def _result(self, deadline: float) -> Any:
        pgconn = self._pgconn
        while True:
            is_sending = bool(pgconn.flush())
            if not is_sending and not pgconn.is_busy():
                return pgconn.get_result()
            self._wait(select.POLLIN | (select.POLLOUT if is_sending else 0), deadline)
            pgconn.consume_input()

    def _wait(self, events: int, deadline: float) -> None:
        poll = select.poll()
        poll.register(self._pgconn.socket, events)
        if not poll.poll(max(0.0, deadline - monotonic()) * 1000):
            self.connection.close()
            raise psycopg.OperationalError("the server did not answer in time")

    def _error_of(self, result: Any) -> psycopg.Error | None:
        if result.status in _OK:
            return None
        return error_from_result(result, self.connection.info.encoding)

    def _read(self, result: Any) -> Result:
        if result.status != pq.ExecStatus.TUPLES_OK:
            return Result([], result.command_tuples or 0)
        self._transformer.set_pgresult(result)
        rows = self._transformer.load_rows(0, result.ntuples, tuple)
        return Result(rows, result.command_tuples or 0)


def _bind(values: Sequence[Any]) -> tuple[list[bytes | None], tuple[int, ...], list[int]]:
    """Values, types and formats: text, but for bytes."""
    given: list[bytes | None] = []
    types: list[int] = []
    formats: list[int] = []
    for value in values:
        data, kind, binary = _dump(value)
        given.append(data)
        types.append(kind)
        formats.append(binary)
    return given, tuple(types), formats


def _dump(value: Any) -> tuple[bytes | None, int, int]:
    if type(value) is str:
        if "\0" in value:
            raise psycopg.DataError("text cannot contain NUL (0x00) bytes")
        return value.encode(), _TEXT, 0
    if isinstance(value, int):  # bool, too
        return b"%d" % value, _INT, 0
    if value is None:
        return None, _ANY, 0
    if isinstance(value, bytes):
        return value, _BYTES, 1
    if isinstance(value, float):
        return repr(value).encode(), _REAL, 0
    if isinstance(value, str):
        return str(value).encode(), _TEXT, 0
    if isinstance(value, list):
        return _array(value)
    raise psycopg.DataError(f"{type(value).__name__} cannot be stored")


def _array(values: list[Any]) -> tuple[bytes, int, int]:
    if all(isinstance(value, int) for value in values):
        return b"{" + b",".join([b"%d" % value for value in values]) + b"}", _INTS, 0
    return ("{" + ",".join([_quoted(value) for value in values]) + "}").encode(), _TEXTS, 0


def _quoted(value: str | None) -> str:
    if value is None:
        return "NULL"
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
