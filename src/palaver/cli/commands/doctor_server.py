"""What `palaver doctor` looks at where the store is a space on a Postgres server.

First with a plain connection, before the store is opened and sets right what it finds; then through the store. What
concerns the disk is asked through a table of the space: on Citus a worker holds it, and its settings count.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING, Any

from palaver import Store
from palaver.base.clock import monotonic
from palaver.db import migrate
from palaver.directory import connected

from ..ui.format import count, size
from .doctor_store import Finding, counted, loose, open_turns, set_aside, value_of

if TYPE_CHECKING:
    import psycopg

_OLDEST = 15
_FAR = 20.0  # ms: a chunk is on disk after one round trip
_FULL = 0.8
_FACTS = """
SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
       (SELECT sum(numbackends)::int FROM pg_stat_database)
"""
_DISK = "SELECT current_setting('fsync'), current_setting('synchronous_commit')"
_OF_SPACE = ' FROM "{}".schema_migrations LIMIT 1'
_CITUS = "SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus')"
_NODE = """
SELECT n.nodename || ':' || n.nodeport
  FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid) JOIN pg_dist_node n USING (groupid)
 WHERE s.logicalrelid = '"{}".schema_migrations'::regclass
"""
_LEASES = """
SELECT pid, host, lease_until - (extract(epoch FROM clock_timestamp()) * 1000)::bigint FROM "{}".owners ORDER BY id
"""
_SIZE = """
SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c
 WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
"""

_SIZE_ON_CITUS = """
SELECT sum(CASE WHEN p.logicalrelid IS NULL THEN pg_total_relation_size(c.oid)
                ELSE citus_total_relation_size(c.oid) END)
  FROM pg_class c LEFT JOIN pg_dist_partition p ON p.logicalrelid = c.oid
 WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
"""


def outside(url: str, space: str) -> Iterator[Finding]:
    """The server, the way to it, and who writes in the space."""
    with connected(url) as (connection, where):
        major = connection.info.server_version // 10_000
        todo = "" if major >= _OLDEST else f"upgrade the server: {_OLDEST} is the oldest that will do"
        yield Finding("server", f"Postgres {major} at {where}", todo)
        yield _encoding(connection)
        trips = [_round_trip(connection) for _ in range(7)]
        yield latency([taken for taken, _ in trips])
        limit, used = _row(connection, _FACTS)
        yield connections(used, limit)
        yield _durability(connection, space)
        seen = {connection.info.backend_pid, *(pid for _, pid in trips)}
        yield pooler(seen, bool(os.environ.get("PALAVER_POOLER")))
        yield from _space(connection, space)


def _encoding(connection: psycopg.Connection[Any]) -> Finding:
    encoding = connection.info.parameter_status("server_encoding") or "unknown"
    todo = "" if encoding == "UTF8" else "make a database with ENCODING 'UTF8'; this one cannot hold every text"
    return Finding("encoding", encoding, todo)


def _round_trip(connection: psycopg.Connection[Any]) -> tuple[float, int]:
    """How many milliseconds it takes, and which process of the server answers."""
    begun = monotonic()
    (pid,) = _row(connection, "SELECT pg_backend_pid()")
    return (monotonic() - begun) * 1000, pid


def latency(times: list[float]) -> Finding:
    usual = median(times)
    todo = "run the writers nearer to the server: each chunk waits for a round trip" if usual > _FAR else ""
    return Finding("latency", f"{usual:.1f} ms for a round trip", todo)


def connections(used: int, limit: int) -> Finding:
    todo = "raise max_connections, or put a pooler in front and open with pooler=True" if used > _FULL * limit else ""
    return Finding("connections", f"{used} of {limit} are used", todo)


def _row(connection: psycopg.Connection[Any], statement: str) -> tuple[Any, ...]:
    row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    return tuple(row)


def _durability(connection: psycopg.Connection[Any], name: str) -> Finding:
    from palaver.db.postgres import spaces

    found = spaces.find(connection, name)
    fsync, waits = _row(connection, _DISK + _OF_SPACE.format(found.schema) if found else _DISK)
    return durability(fsync, waits, _node(connection, found.schema) if found else "")


def _node(connection: psycopg.Connection[Any], schema: str) -> str:
    """The worker that holds the space; empty where there are none."""
    if _row(connection, _CITUS) == (False,):
        return ""
    (node,) = connection.execute(_NODE.format(schema).encode()).fetchone() or ("",)
    return str(node)


def durability(fsync: str, waits: str, node: str) -> Finding:
    where = f" on {node}, which holds the space" if node else ""
    if fsync != "on":
        what = f"fsync is {fsync}{where}: a power cut can lose everything"
        return Finding("durability", what, "turn fsync on in the server's settings")
    return Finding(
        "durability", f"fsync is on{where}; synchronous_commit is {waits} there, where a commit does not say"
    )


def pooler(pids: set[int], is_known: bool) -> Finding:
    """Who speaks to the server itself is told which process serves it, and keeps it. A pooler makes a number up, or
    lends another process for each transaction."""
    if len(pids) == 1:
        return Finding("pooler", "none: the connection leads to the server itself")
    if is_known:
        return Finding("pooler", "there is one on the way, and it is taken into account")
    what = "there is one on the way; prepared statements of one transaction can meet another's"
    return Finding("pooler", what, "unless it keeps sessions apart: open with pooler=True, here with PALAVER_POOLER=1")


def _space(connection: psycopg.Connection[Any], name: str) -> Iterator[Finding]:
    from palaver.db.postgres import spaces

    found = spaces.find(connection, name)
    if found is None:
        yield Finding(
            "space", f"there is no space {name}", "`palaver space create` makes one, `palaver space ls` lists"
        )
        return
    todo = "upgrade Palaver" if found.version > migrate.VERSION else ""
    known = f"version {found.version}, this Palaver knows {migrate.VERSION}"
    yield Finding("space", f"{name} is schema {found.schema}, {known}", todo)
    if found.version == migrate.VERSION:
        yield from leases(connection.execute(_LEASES.format(found.schema)).fetchall())


def leases(rows: list[tuple[Any, ...]]) -> Iterator[Finding]:
    dead = [pid for pid, _, left in rows if left is None or left < 0]
    for pid, host, left in rows:
        if left is not None and left >= 0:
            yield Finding("leases", f"process {pid} on {host} is alive; its lease lasts {left / 1000:.0f} s more")
    if len(dead) == len(rows):
        yield Finding("leases", "no process is writing turns")
    if dead:
        what = (
            f"the leases of {count(len(dead), 'writer')} have run out; what they left open is sealed by the next open"
        )
        yield Finding("leases", what)


def inside(store: Store) -> Iterator[Finding]:
    yield counted(store)
    yield open_turns(store)
    yield from set_aside(store)
    yield loose(store)
    statement = _SIZE_ON_CITUS if value_of(store, _CITUS) else _SIZE
    yield Finding("size", f"{size(int(value_of(store, statement) or 0))} with its indexes")
