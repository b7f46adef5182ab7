"""Transactions on Postgres: reads are REPEATABLE READ snapshots; a write is a few pipelines, its COMMIT in the last.

Each begins by setting its schema as the search path, for itself alone: behind a pooler the next transaction on the same
connection is another client's.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import psycopg

from ...base.clock import monotonic
from ...errors import StoreUnavailable, is_settled
from ..engine import Row
from ..queries import Q, Query
from . import arrivals, bulk, outcome
from .dialect import LOCK
from .errors import TRANSLATED, is_lost, is_unsure, not_done
from .nodes import WHICH, Ticket, here
from .pipeline import Pipeline, Result, Step
from .settings import BY_INDEX, FREE
from .spaces import WRITERS_FROM

if TYPE_CHECKING:
    from .engine import PostgresDatabase

_MANY = 20  # rows from which on COPY is faster
_LOOK_EVERY = 5.0  # seconds between two scans for rows of other programs that are older than our newest
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_LOOK = (
    "SELECT max(version), (SELECT value FROM settings WHERE name = 'events'), pg_current_xact_id()::text{}"
    " FROM schema_migrations"
)


def looking(*, names_node: bool) -> str:
    """What a write checks first (version, settings), and its transaction number. With `names_node` also the node that
    gave the number; without, the connection leads to one server, which is known."""
    return _LOOK.format(f", {WHICH}" if names_node else "")


class Statements:
    """The verbs of a transaction over one connection."""

    far = 2**62
    words = "tsvector"

    def __init__(self, db: PostgresDatabase) -> None:
        self._db = db
        self._dialect = db.dialect
        self._link: Pipeline
        self._begun = self._is_fresh = self._has_strangers = self._is_free = False
        self._waiting: list[Step] = []

    def all(self, query: Query, **params: Any) -> list[Row]:
        return self._rows(query, query.bind(params))

    def one(self, query: Query, **params: Any) -> Row | None:
        for row in self._rows(query, query.bind(params)):
            return row
        return None

    def run(self, query: Query, **params: Any) -> int:
        return self._execute(query, query.bind(params)).count

    def run_many(self, query: Query, rows: Sequence[dict[str, Any]]) -> int:
        if len(rows) < _MANY:
            return sum(self.run(query, **row) for row in rows)
        self._plan(False)
        if self._waiting or not self._begun:
            self._send()
        return bulk.insert(self._link.connection, query, self._dialect(query).text, rows)

    def all_values(self, query: Query, *values: Any) -> list[Row]:
        return self._rows(query, values)

    def defer(self, query: Query, **params: Any) -> None:
        self._queue(query, query.bind(params))

    def defer_values(self, query: Query, *values: Any) -> None:
        self._queue(query, values)

    def run_releasing(self, query: Query, values: list[Any]) -> None:
        given = tuple(values)
        values.clear()
        self._execute(query, given)

    def generation(self, *, closely: bool = False) -> int | None:
        """By the locks taken so far: None where one of them saw a row of another program. They do not see a row that is
        older than our newest."""
        return None if closely or self._has_strangers else int(monotonic() // _LOOK_EVERY)

    def are_words_sound(self) -> bool:
        """The server looks after its own pages."""
        return True

    def clear_words(self) -> None:
        self._execute(Q.clear_words, ())

    def replace_words(self) -> None:
        """As above: the server says what is wrong with its pages."""
        self._execute(Q.clear_words, ())
        self._execute(Q.drop_documents, ())

    def watch_words(self, told: object) -> None:
        """Nothing: the same."""

    def arrival(self) -> tuple[int, str] | None:
        if self._db.has_citus:
            return None
        ((mark, guard),) = self._ask(arrivals.MARK, ())
        return mark, guard

    def arrived(self, mark: int, guard: str, limit: int) -> list[str] | None:
        if self._db.has_citus or not arrivals.is_of_here(self._ask(arrivals.WRITER, ()), guard):
            return None
        return [message_id for (message_id,) in self._ask(arrivals.SINCE, (arrivals.as_xid(mark), limit))]

    def _ask(self, text: str, values: Sequence[Any]) -> list[Row]:
        """What is not among the named statements; planned by the server."""
        self._plan(True)
        self._waiting.append((text, values))
        return self._send().rows()

    def watermark(self) -> int | None:
        return None

    def _queue(self, query: Query, values: Sequence[Any]) -> None:
        text, locks, is_free = self._dialect(query)
        self._plan(is_free)
        if locks is not None:
            self._waiting.append((LOCK, (values[locks],)))
        self._waiting.append((text, values))

    def _plan(self, is_free: bool) -> None:
        """Whether the server chooses the ways to rows, from the next statement on: said only where that changes."""
        if is_free != self._is_free:
            self._is_free = is_free
            self._waiting.append((FREE if is_free else BY_INDEX, ()))

    def _rows(self, query: Query, values: Sequence[Any]) -> list[Row]:
        return self._execute(query, values).rows()

    def _execute(self, query: Query, values: Sequence[Any]) -> Result:
        self._queue(query, values)
        return self._send()

    def _send(self) -> Result:
        """Send all deferred statements in one round trip; the result of the last."""
        steps, self._waiting = self._waiting, []
        if not self._begun:
            return self._begin(steps)
        results = self._link.send(steps, self._db.patience)
        self._note_locks(steps, results)
        return results[-1]

    def _note_locks(self, steps: list[Step], results: list[Result]) -> None:
        for (text, _), result in zip(steps, results, strict=True):
            if text is LOCK:
                self._has_strangers |= result.rows() == [(True,)]

    def _begin(self, steps: list[Step]) -> Result:
        """The first round trip. It commits nothing, so it is retried: on a new connection where the old one is lost,
        and while a node that it needs is away, until the timeout."""
        self._begun = True
        beginning, deadline = self._beginning(), monotonic() + self._db.timeout
        steps = [*beginning, *steps]
        while True:
            try:
                results = self._link.send(steps, self._db.patience)
                break
            except psycopg.Error as error:
                if not is_lost(error) or (self._is_fresh and monotonic() > deadline):
                    raise
            self._renew_link()
        self._check(results[len(beginning) - 1])
        self._note_locks(steps, results)
        return results[-1]

    def _renew_link(self) -> None:
        """At once for the first time: the connection had only been idle for too long."""
        if self._is_fresh:
            self._db.pool.pause()
        self._link, self._is_fresh = self._db.pool.renewed(self._link), True

    def _beginning(self) -> list[Step]:
        raise NotImplementedError

    def _check(self, result: Result) -> None:
        """Called with the result of the last of the beginning steps."""


class Read(Statements):
    """A snapshot: everything read inside it is of one moment."""

    def __enter__(self) -> Read:
        self._link = self._db.pool.borrow()
        return self

    def _beginning(self) -> list[Step]:
        return [(_READ, ()), self._db.reading()]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.pool.give_back(self._link)
        if isinstance(error, TRANSLATED):
            self._db.explain(error)


class Write(Statements):
    """All or nothing. Where the connection is lost with the COMMIT, the server is asked how the transaction ended."""

    def __init__(self, db: PostgresDatabase, level: str, *, hard: bool) -> None:
        super().__init__(db)
        self._level = level
        self._is_hard = hard
        self._ticket: Ticket | None = None

    def __enter__(self) -> Write:
        self._link = self._db.pool.borrow()
        return self

    def _beginning(self) -> list[Step]:
        hint = self._is_hard or self._db.is_hint_due()
        return [("BEGIN", ()), *self._db.opening(self._level, hint=hint), (self._db.look, ())]

    def _check(self, result: Result) -> None:
        ((version, events, number, *place),) = result.rows()
        self._ticket = Ticket(number, *(here(*place) if place else (None, self._link.node)))
        self._db.check(version, events, self._writers_from)

    def _writers_from(self) -> object:
        """Asked where the version is not the one we know."""
        rows = self._link.send([(WRITERS_FROM, ())], self._db.patience)[-1].rows()
        return next((value for (value,) in rows), None)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stays = kind is None or is_settled(error)
        failure = error
        if stays:
            failure = self._commit()
        else:
            self._db.pool.give_back(self._link)
        if isinstance(failure, TRANSLATED):
            self._db.explain(failure)
        if failure is not None and stays:
            raise failure

    def _commit(self) -> BaseException | None:
        """None: it is committed."""
        try:
            if self._waiting and not self._begun:
                self._waiting, kept = [], self._waiting
                self._send()  # the transaction's number must be known before the COMMIT can be lost
                self._waiting = kept
            if self._begun:
                self._waiting.append(("COMMIT", ()))
                self._send()
        except BaseException as error:
            self._db.pool.give_back(self._link)
            return self._resolved(error)
        self._db.pool.give_back(self._link)
        return None

    def _resolved(self, error: BaseException) -> BaseException | None:
        """None if the transaction whose COMMIT failed was committed all the same; else the error for the caller."""
        if not is_unsure(error) or self._ticket is None:
            return error
        ended = outcome.outcome_of(self._db, self._ticket)
        if ended == "committed":
            return None
        if ended == "aborted":
            return error if is_lost(error) else StoreUnavailable(not_done(error, self._db.name))
        return StoreUnavailable(
            f"{self._db.name} was lost while committing, and cannot say whether it did; look before you try again"
        )
