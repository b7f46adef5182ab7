"""Transactions on SQLite: reads are snapshots; a write's BEGIN goes out with its first statement, COMMIT with its last.

Deferred statements run one by one: the driver finds a compiled statement by a hash of all the text that is left, so one
text of many statements costs their number times its length. A write that joins an open group works in a savepoint of
its transaction (see group_commit.py).
"""

from __future__ import annotations

from collections.abc import Mapping

import apsw

from ...base.clock import monotonic
from ...errors import is_settled
from ..queries import Q, Query
from .errors import TRANSLATED

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType
    from typing import Any

    from ..engine import Row
    from .engine import SqliteDatabase
    from .group_commit import Group
    from .readonly import ReadOnlyDatabase

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"  # that nearly all words begin with
_BEGIN = "BEGIN IMMEDIATE;PRAGMA data_version"
_LET_GO = """PRAGMA writable_schema = ON;
DELETE FROM sqlite_schema WHERE tbl_name = 'documents' OR tbl_name GLOB 'document_words*';
PRAGMA writable_schema = RESET"""  # nothing that compiles before it is allowed is among the named statements
_ILL = (apsw.IOError, apsw.CorruptError, apsw.FullError, apsw.NoMemError)


class Statements:
    """The verbs of a transaction over one cursor."""

    words = "fts5"
    far = b""  # numbers, then texts, then bytes: a time that another program wrote may be any of them

    def __init__(self, cursor: apsw.Cursor) -> None:
        self._cursor = cursor

    def all(self, query: Query, **params: Any) -> list[Row]:
        return self._ask(query.text, query.bind(params))

    def _ask(self, text: str, values: Sequence[Any]) -> list[Row]:
        try:
            return self._cursor.execute(text, values).fetchall()
        except apsw.CorruptError as error:
            error.add_note(text)  # which tables it is about: see errors.py
            raise
        except UnicodeDecodeError as error:
            from . import undecodable  # when a text is no UTF-8: hardly ever

            return undecodable.rows(self._cursor.connection, text, values, error)

    def one(self, query: Query, **params: Any) -> Row | None:
        for row in self.all(query, **params):
            return row
        return None

    def run(self, query: Query, **params: Any) -> int:
        self.all(query, **params)
        return self._cursor.connection.changes()

    def run_many(self, query: Query, rows: Sequence[dict[str, Any]]) -> int:
        return sum(self.run(query, **row) for row in rows)

    def defer(self, query: Query, **params: Any) -> None:
        self.all(query, **params)

    def all_values(self, query: Query, *values: Any) -> list[Row]:
        return self._ask(query.text, values)

    def defer_values(self, query: Query, *values: Any) -> None:
        self.all_values(query, *values)

    def run_releasing(self, query: Query, values: list[Any]) -> None:
        self._cursor.execute(query.text, _Once(query, values), can_cache=False).fetchall()

    def generation(self, *, closely: bool = False) -> int | None:
        ((version,),) = self._cursor.execute("PRAGMA data_version").fetchall()
        return int(version)  # type: ignore[arg-type]

    def are_words_sound(self) -> bool:
        try:
            for letter in _LETTERS:
                self.all(Q.count_words, match=f'"{letter}" *')
        except (apsw.CorruptError, apsw.SQLError):
            return False
        return True

    def clear_words(self) -> None:
        """SQLite drops a table of words whose settings it can read. They may be damaged, and nobody else may write
        them: so for a moment this connection may."""
        connection = self._cursor.connection
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        try:
            for query in (Q.make_words_settings, Q.put_words_settings, Q.drop_words_table, Q.make_words_table):
                self.all(query)
        finally:
            connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)

    def replace_words(self) -> None:
        """They are taken out of the schema as they are: what they took of the file is free after a VACUUM."""
        from .. import schema  # hardly ever

        connection = self._cursor.connection
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        try:
            self.all(Q.index_state)  # the transaction has begun
            self._cursor.execute(_LET_GO)
            for one in schema.current().all:
                if getattr(one, "table", one.name) in ("documents", "document_words"):
                    self._cursor.execute(one.sql)
        finally:
            self._cursor.execute("PRAGMA writable_schema = OFF")
            connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)

    def watch_words(self, told: Callable[[str, Row | None, Row | None], None] | None) -> None:
        tell = None if told is None else lambda change: told(change.table_name, change.old, change.new)
        self._cursor.connection.preupdate_hook(tell)

    def arrival(self) -> tuple[int, str] | None:
        """The number of the newest row, and its id: the number of one that went may be given again."""
        ((number, message_id),) = self.all(Q.newest_arrival)
        return (number, message_id) if isinstance(message_id, str) else None

    def arrived(self, mark: int, guard: str, limit: int) -> list[str] | None:
        if self.all(Q.message_at, number=mark) != [(guard,)]:
            return None
        return [message_id for (message_id,) in self.all(Q.loose_since, mark=mark, limit=limit)]

    def watermark(self) -> int | None:
        ((newest,),) = self.all(Q.newest_row)
        return newest or 0


class _Once(Mapping[str, "Any"]):
    """Values by their names. Each is given out once: the driver binds a copy, and no reference to the value is left."""

    def __init__(self, query: Query, values: list[Any]) -> None:
        self._values = dict(zip(query.names, values, strict=True))
        values.clear()

    def __getitem__(self, name: str) -> Any:
        return self._values.pop(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class Read(Statements):
    """A snapshot: everything read inside it is of one moment."""

    def __init__(self, db: SqliteDatabase | ReadOnlyDatabase) -> None:
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
    """A store in memory is one connection under one lock: a read takes that lock."""

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
        self._waiting: list[tuple[str, Sequence[Any]]] = []

    def __enter__(self) -> Write:
        if not self._deadline:
            deadline = monotonic() + self._db.timeout
            self.entered(self._db.enter(deadline, self._level), deadline)
        return self

    def entered(self, group: Group | None, deadline: float) -> Write:
        """The caller has the engine's lock, and may have joined a group."""
        self._group, self._deadline, self._cursor = group, deadline, self._db.cursor
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stays = kind is None or is_settled(error)
        failure = None if stays else error
        try:
            if stays:
                self._end()
        except BaseException as broken:  # whatever it is (Ctrl-C, too), nothing stays half done or locked
            failure = broken
        try:
            if failure is not None:
                self._roll_back(failure)
        finally:
            if self._group is None:
                self._db.leave()
            else:
                self._db.pass_on(self._group, failure)
        if failure is None and self._group is not None:
            failure = self._db.await_group(self._group)
        if isinstance(failure, TRANSLATED):
            self._db.explain(failure)
        if failure is not None and stays:
            raise failure

    def _end(self) -> None:
        """Commit; or, where an fsync can be shared, leave that to the last thread of the group."""
        if self._waiting:
            self._run_waiting()
        if not self._begun:
            return
        if self._group is not None:
            self._cursor.execute("RELEASE member")
        elif self._db.is_shared(self._level):
            self._group = self._db.open_group(self._generation)
        else:
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
        return self.all_values(query, *query.bind(params))

    def all_values(self, query: Query, *values: Any) -> list[Row]:
        if self._waiting or not self._begun:
            self._run_waiting()
        return self._ask(query.text, values)

    def defer(self, query: Query, **params: Any) -> None:
        self._waiting.append((query.text, query.bind(params)))

    def defer_values(self, query: Query, *values: Any) -> None:
        self._waiting.append((query.text, values))

    def run_releasing(self, query: Query, values: list[Any]) -> None:
        """Without the statement cache: a cached statement keeps the values that were bound to it."""
        self._run_waiting()
        super().run_releasing(query, values)

    def append(self, chunk: Row, part: Row | None) -> int:
        self.all_values(Q.append_chunk, *chunk)
        taken = self._cursor.connection.changes()
        if taken and part is not None:
            self.defer_values(Q.update_part, *part)
        return taken

    def generation(self, *, closely: bool = False) -> int | None:
        if not self._begun:
            self._begin()
        return self._generation

    def _run_waiting(self) -> None:
        if not self._begun:
            self._begin()
        waiting, self._waiting = self._waiting, []
        execute = self._cursor.execute
        for text, params in waiting:
            execute(text, params)

    def _begin(self) -> None:
        """The schema's version is checked before anything is written."""
        self._begun = True
        if self._group is not None:
            self._generation = self._group.generation
            self._cursor.execute("SAVEPOINT member")
            return
        try:
            found: list[Row] = self._cursor.execute(_BEGIN).fetchall()
        except apsw.BusyError:
            found = self._db.patiently(_BEGIN, (), self._deadline)
        ((self._generation,),) = found
        self._db.check_schema(self._generation)
