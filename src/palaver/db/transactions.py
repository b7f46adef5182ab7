"""Transactions on SQLite: reads are snapshots; a write's BEGIN goes out with its first statement, COMMIT with its last.

A write that finds a group open works in a savepoint of it (see grouping.py).
"""

from __future__ import annotations

import apsw

from ..clock import monotonic
from .explaining import TRANSLATED
from .queries import Q, Query

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Any

    from .database import Row
    from .grouping import Group
    from .sqlite import SqliteDatabase

_BATCH = 24  # statements in one text
_ILL = (apsw.IOError, apsw.CorruptError, apsw.FullError, apsw.NoMemError)


class Statements:
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

    def run_many(self, query: Query, rows: Sequence[dict[str, Any]]) -> int:
        return sum(self.run(query, **row) for row in rows)

    def later(self, query: Query, **params: Any) -> None:
        self.all(query, **params)

    def take(self, query: Query, *values: Any) -> list[Row]:
        return self._cursor.execute(query.text, values).fetchall()

    def put(self, query: Query, *values: Any) -> None:
        self.take(query, *values)

    def put_large(self, query: Query, *values: Any) -> None:
        self.take(query, *values)

    def generation(self) -> int | None:
        version: int = self._cursor.execute("PRAGMA data_version").fetchall()[0][0]  # type: ignore[assignment]
        return version

    def watermark(self) -> int | None:
        return self.all(Q.newest_row)[0][0] or 0


class Read(Statements):
    """A snapshot: everything read inside it is of one moment."""

    def __init__(self, db: SqliteDatabase) -> None:
        self._db = db

    def __enter__(self) -> Read:
        try:
            self._connection = self._db.borrow()
            self._cursor = self._connection.cursor()
            self._cursor.execute("BEGIN")
        except apsw.Error as error:
            self._db.explain(error)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cursor.close(True)
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._db.give_back(self._connection)
        if isinstance(error, TRANSLATED):
            self._db.explain(error)


class MemoryRead(Statements):
    """Memory is one connection under one lock: a read holds it."""

    def __init__(self, db: SqliteDatabase) -> None:
        self._db = db

    def __enter__(self) -> MemoryRead:
        self._db.enter(monotonic() + self._db.timeout)
        self._cursor = self._db.cursor
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.leave(wrote=False)
        if isinstance(error, TRANSLATED):
            self._db.explain(error)


class Write(Statements):
    """All or nothing."""

    def __init__(self, db: SqliteDatabase, level: int) -> None:
        self._db = db
        self._level = level
        self._group: Group | None = None
        self._deadline = 0.0
        self._begun = False
        self._generation = 0
        self._queries: list[Query] = []
        self._params: list[Any] = []

    def __enter__(self) -> Write:
        if not self._deadline:
            deadline = monotonic() + self._db.timeout
            self.entered(self._db.enter(deadline, self._level), deadline)
        return self

    def entered(self, group: Group | None, deadline: float) -> Write:
        """The lock is ours, and with it, maybe, a group to join."""
        self._group, self._deadline, self._cursor = group, deadline, self._db.cursor
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._end()
        except BaseException as failure:  # whatever it is (Ctrl-C, too), nothing stays half done or locked
            error = failure
        try:
            if error is not None:
                self._roll_back(error)
        finally:
            if self._group is None:
                self._db.leave()
            else:
                self._db.pass_on(self._group, error)
        if error is None and self._group is not None:
            error = self._db.await_group(self._group)
        if isinstance(error, TRANSLATED):
            self._db.explain(error)
        if error is not None and kind is None:
            raise error

    def _end(self) -> None:
        """Commit; or, where an fsync can be shared, leave that to whoever comes last."""
        if self._queries and not self._begun:
            self._execute("", ())  # the schema is looked at before anything is written, not with the commit
        if self._group is not None:
            self._flush("RELEASE member;") if self._begun or self._queries else None
        elif self._db.is_shared(self._level) and (self._begun or self._queries):
            self._flush("")
            self._group = self._db.open_group(self._generation)
        elif self._queries:
            self._flush("COMMIT;")
        elif self._begun:
            self._cursor.execute("COMMIT")

    def _roll_back(self, error: BaseException) -> None:
        if not self._db.in_transaction:  # SQLite rolled back by itself (full disk, I/O error)
            return
        try:
            if self._group is None or isinstance(error, _ILL):
                self._db.roll_back()
            elif self._begun:
                self._db.roll_back("ROLLBACK TO member; RELEASE member")
        except apsw.Error:
            if self._group is None and self._db.in_transaction:
                raise
            self._db.roll_back()  # after an I/O error only a whole rollback helps

    def all(self, query: Query, **params: Any) -> list[Row]:
        if self._queries:
            self._flush("")
        return self._execute(query.text, query.bind(params))

    def take(self, query: Query, *values: Any) -> list[Row]:
        if self._queries:
            self._flush("")
        return self._execute(query.text, values)

    def later(self, query: Query, **params: Any) -> None:
        self._queries.append(query)
        self._params += query.bind(params)

    def put(self, query: Query, *values: Any) -> None:
        self._queries.append(query)
        self._params += values

    def put_large(self, query: Query, *values: Any) -> None:
        """A compiled statement that is kept keeps what was bound to it: this one is not."""
        if self._queries:
            self._flush("")
        if not self._begun:
            self._execute("", ())
        self._cursor.execute(query.text, values, can_cache=False).fetchall()

    def append(self, chunk: Row, part: Row | None) -> int:
        self.take(Q.append_chunk, *chunk)
        taken = self._cursor.connection.changes()
        if taken and part is not None:
            self.put(Q.update_part, *part)
        return taken

    def generation(self) -> int | None:
        if not self._begun:
            self._execute("", ())
        return self._generation

    def _execute(self, text: str, params: Sequence[Any]) -> list[Row]:
        if self._begun:
            return self._cursor.execute(text, params).fetchall()
        self._begun = True
        if self._group is not None:
            self._generation = self._group.generation
            self._cursor.execute("SAVEPOINT member")
            return self._cursor.execute(text, params).fetchall()
        rows = self._db.patiently(_begin(text), params, self._deadline)
        self._generation = int(rows[0][0])
        self._db.check_schema(self._generation)
        return rows[1:]

    def _flush(self, suffix: str) -> None:
        """All that is queued as one text. Long batches go in pieces: SQLite caches a text up to 16 KB."""
        queries, params = self._queries, self._params
        self._queries, self._params = [], []
        if len(queries) > _BATCH:
            queries, params = self._flush_most(queries, params)
        self._execute(self._db.joined_text(tuple(queries), suffix), params)

    def _flush_most(self, queries: list[Query], params: list[Any]) -> tuple[list[Query], list[Any]]:
        """All but the last batch, which is returned."""
        at = width = 0
        while len(queries) - at > _BATCH:
            piece = tuple(queries[at : at + _BATCH])
            end = width + sum(len(q.names) for q in piece)
            self._execute(self._db.joined_text(piece, ""), params[width:end])
            at, width = at + _BATCH, end
        return queries[at:], params[width:]


_begins: dict[str, str] = {}


def _begin(text: str) -> str:
    """The text that opens a transaction with its first statement; kept, so that SQLite finds it compiled."""
    found = _begins.get(text)
    if found is None:
        found = _begins[text] = "BEGIN IMMEDIATE;PRAGMA data_version;" + text
    return found
