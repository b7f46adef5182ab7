"""Which server gave a transaction its number: no other server can say how it ended.

On one Postgres that is the server of the connection, asked once. On Citus a statement runs where its tables are, on the
worker that holds the space, and the space may move; behind a pooler the next transaction may be on another server.
There each write asks in the statement that gives it its number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import psycopg

from ..engine import Row

_DISK = (
    "concat_ws('/', (SELECT system_identifier FROM pg_control_system()),"
    " CASE WHEN NOT pg_is_in_recovery() THEN substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END)"
)
_LIFE = "pg_stat_get_bgwriter_stat_reset_time()::text"
HAS_CITUS = "EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus')"
_HERE = f"SELECT {_DISK}, {_LIFE}, {HAS_CITUS}"
WHICH = f"max(tableoid)::text, {_DISK}, {_LIFE}"  # of a table of the space


class Node(NamedTuple):
    disk: str  # its system identifier and timeline: another one after a failover
    life: str  # after a crash its counters begin anew, and so may the numbers that were lost with it


class Ticket(NamedTuple):
    """What a server needs to be asked how a transaction ended."""

    number: str
    table: str | None  # the oid of a table of the space: where it has moved, also there and back, it has another one
    node: Node | None


def here(table: Any, disk: Any, life: Any) -> tuple[str, Node]:
    """The columns of WHICH, as a table and its node."""
    return str(table), Node(str(disk), str(life))


def node_of(connection: psycopg.Connection[Row]) -> tuple[Node, bool]:
    """The server of a connection, and whether Citus is in its database."""
    row = connection.execute(_HERE.encode()).fetchone()
    assert row is not None
    disk, life, has_citus = row
    return Node(str(disk), str(life)), bool(has_citus)
