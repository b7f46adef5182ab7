"""How a transaction ended whose COMMIT was not answered: the node that gave it its number knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import psycopg

from ...base.clock import monotonic, now_ms
from ...errors import StoreError
from ..engine import Row
from .errors import is_lost
from .nodes import WHICH, Node, Ticket, here
from .pipeline import Pipeline, Step

if TYPE_CHECKING:
    from .engine import PostgresDatabase

# Through a table of the space, so that the node answers that holds it.
_STATUS = 'SELECT pg_xact_status(%s::text::xid8), {which} FROM "{schema}".schema_migrations'
_PLACE = 'SELECT {which} FROM "{schema}".schema_migrations'


class _Answer(NamedTuple):
    status: str | None
    table: str
    node: Node

    def is_of(self, ticket: Ticket) -> bool:
        """The answer comes from the node that gave the number. On one server a table has no other node."""
        return ticket.node is not None and self.node.disk == ticket.node.disk and ticket.table in (None, self.table)


def outcome_of(db: PostgresDatabase, ticket: Ticket) -> str | None:
    """committed or aborted; None: no server can say."""
    deadline = monotonic() + db.timeout
    while True:
        try:
            return _ended(db, ticket)
        except (psycopg.Error, StoreError, _InProgress) as error:
            if isinstance(error, psycopg.Error) and not is_lost(error):
                return None  # it cannot be asked at all, and never will
            if monotonic() > deadline:
                return None
        db.pool.nap(0.02)


class _InProgress(Exception):
    """It has not ended."""


def _ended(db: PostgresDatabase, ticket: Ticket) -> str | None:
    with db.pool.connect() as connection:
        answer = _asked(connection, db.schema, ticket.number)
        if not answer.is_of(ticket):
            return None  # the space has moved, or there was a failover: the number is somebody else's
        if answer.status == "in progress":
            raise _InProgress
        if answer.status != "committed":
            return answer.status
        if answer.node != ticket.node:
            return None  # a crash may have taken ours, and given its number to another
        _confirm(db, connection)
    return "committed"


def _asked(connection: psycopg.Connection[Row], schema: str, number: str) -> _Answer:
    try:
        row = connection.execute(_STATUS.format(which=WHICH, schema=schema).encode(), (number,)).fetchone()
    except psycopg.errors.InvalidParameterValue:  # a number that is yet to be given out: a crash took ours
        row = connection.execute(_PLACE.format(which=WHICH, schema=schema).encode()).fetchone()
        row = ("aborted", *(row or ()))
    assert row is not None
    status, *place = row
    return _Answer(status, *here(*place))


def _confirm(db: PostgresDatabase, connection: psycopg.Connection[Row]) -> None:
    """Committed is what the server says of its own disk. Standbys that are to confirm a commit confirm this one, which
    comes later, and with it everything before."""
    note = (
        f'INSERT INTO "{db.schema}".settings (name, value) VALUES ($1, $2)'
        " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    )
    steps: list[Step] = [("BEGIN", ()), *db.opening("on"), (note, ("confirmed", str(now_ms()))), ("COMMIT", ())]
    Pipeline(connection, prepares=False, node=None).send(steps, db.timeout)
