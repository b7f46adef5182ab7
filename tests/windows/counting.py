"""What a read costs: on SQLite the steps of its machine, on Postgres the rows that its plans touch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import palaver
from palaver.db.postgres import dialect
from palaver.db.postgres.transactions import Statements
from palaver.db.queries import Query

Asked = list[tuple[Query, tuple[Any, ...]]]
NO_TABLES = {"CTE Scan", "WorkTable Scan", "Subquery Scan"}


@contextmanager
def asked() -> Iterator[Asked]:
    """Every statement that is sent to a server, in order."""
    found: Asked = []
    execute = Statements._execute

    def noting(self: Statements, query: Query, values: Any) -> Any:
        found.append((query, tuple(values)))
        return execute(self, query, values)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Statements, "_execute", noting)
        yield found


def rows_read(store: palaver.Store, read: Callable[[], object]) -> int:
    """Rows that a server fetches from its tables for a read, and how often it looks for one."""
    with asked() as statements:
        read()
    return sum(_touched(_plan(store, query, values)) for query, values in list(statements))


def _plan(store: palaver.Store, query: Query, values: tuple[Any, ...]) -> dict[str, Any]:
    text = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {dialect.translate(query).text}"
    explain = Query(f"explain {query.name}", text)
    explain.names, explain.bind = (), lambda params: values
    with store.db.read() as tx:
        ((plan,),) = tx.all(explain)
    found: dict[str, Any] = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
    return found


def _touched(node: dict[str, Any]) -> int:
    below = sum(map(_touched, node.get("Plans", ())))
    if "Scan" not in node["Node Type"] or node["Node Type"] in NO_TABLES:
        return below
    rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    return int(below + node["Actual Loops"] * (1 + rows))
