"""A Citus cluster that someone else runs: a coordinator, and the workers that hold the spaces.

`PALAVER_TEST_CITUS_DSN` names the coordinator and `PALAVER_TEST_CITUS_WORKERS` its workers (`host:port,…`), reached by
the same user. Nodes are counted per database: each database of a test is made on every one of them. With
`PALAVER_TEST_DSN` set to the same address all tests of this folder use the cluster. `PALAVER_TEST_CITUS_CRASH` is a
program that is given `host:port` of a worker and a number of seconds: it kills that worker as a power cut would, starts
it again after so long, and ends when it answers.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from .server import Given, rewritten

WHERE = """
SELECT n.nodename || ':' || n.nodeport, n.groupid <> 0
  FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid) JOIN pg_dist_node n USING (groupid)
 WHERE s.logicalrelid = %s::regclass ORDER BY 1
"""
CRASH_S = 120.0


class Citus(Given):
    def __init__(self, dsn: str, workers: list[str]) -> None:
        super().__init__(dsn)
        self.workers = workers

    def create_database(self) -> str:
        made = super().create_database()
        try:
            self._spread(made)
        except BaseException:
            self.drop_database(made)
            raise
        return made

    def drop_database(self, dsn: str) -> None:
        super().drop_database(dsn)
        for worker in self.workers:
            Given(at(self.dsn, worker)).drop_database(dsn)

    def _spread(self, made: str) -> None:
        name = sql.Identifier(str(conninfo_to_dict(made)["dbname"]))
        for worker in self.workers:
            _run(at(self.dsn, worker), sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(name))
        for node in (made, *(at(made, worker) for worker in self.workers)):
            _run(node, "CREATE EXTENSION citus")
        parts = conninfo_to_dict(made)
        _run(made, "SELECT citus_set_coordinator_host(%s, %s)", str(parts["host"]), int(parts.get("port") or 5432))
        for worker in self.workers:
            _add(made, worker)
        _run(made, sql.SQL("ALTER DATABASE {} SET citus.enable_schema_based_sharding = on").format(name))


def connect_citus() -> Citus | None:
    """The cluster that the environment names, if it does."""
    dsn, workers = os.environ.get("PALAVER_TEST_CITUS_DSN"), os.environ.get("PALAVER_TEST_CITUS_WORKERS", "")
    if not dsn:
        return None
    assert workers, "PALAVER_TEST_CITUS_WORKERS is to name the workers (host:port,…): without them nothing is spread"
    return Citus(dsn, workers.split(","))


def at(dsn: str, worker: str) -> str:
    """The same database on a worker."""
    host, port = _split(worker)
    return rewritten(dsn, host=host, hostaddr="", port=str(port))


def nodes_of(dsn: str, table: str) -> list[tuple[str, bool]]:
    """Where the rows of a table are: the nodes, and whether each is a worker."""
    return [(str(name), bool(is_worker)) for name, is_worker in _run(dsn, WHERE, table)]


def space_node(dsn: str, schema: str) -> str:
    """The DSN that leads to the rows of a space: on Citus to the worker that holds them."""
    if not _run(dsn, "SELECT 1 FROM pg_extension WHERE extname = 'citus'"):
        return dsn
    ((worker, _),) = nodes_of(dsn, f'"{schema}".heads')
    return at(dsn, worker)


def crash(worker: str, seconds: float) -> subprocess.Popen[bytes]:
    """Begin one; whoever began it waits for its end."""
    return subprocess.Popen([os.environ["PALAVER_TEST_CITUS_CRASH"], worker, str(seconds)])


def ended(crashes: list[subprocess.Popen[bytes]]) -> None:
    for one in crashes:
        assert one.wait(CRASH_S) == 0


def databases(citus: Citus) -> Iterator[str]:
    """For a fixture: one, and it is gone afterwards."""
    made = citus.create_database()
    yield made
    citus.drop_database(made)


def _add(made: str, worker: str) -> None:
    """All or nothing; under load Citus gives up its own connection now and then."""
    for left in (2, 1, 0):
        try:
            _run(made, "SELECT citus_add_node(%s, %s)", *_split(worker))
            return
        except psycopg.errors.InternalError_:
            if not left:
                raise


def _split(worker: str) -> tuple[str, int]:
    host, _, port = worker.rpartition(":")
    return host, int(port)


def _run(dsn: str, statement: str | sql.Composed, *values: object) -> list[tuple[Any, ...]]:
    with closing(psycopg.connect(dsn, autocommit=True, connect_timeout=10, options="-c statement_timeout=60s")) as db:
        text = statement.as_string(db) if isinstance(statement, sql.Composed) else statement
        cursor = db.execute(text.encode(), values or None)
        return cursor.fetchall() if cursor.description else []
