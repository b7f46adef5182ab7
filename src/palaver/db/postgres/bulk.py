"""Many rows of one INSERT at once: COPY into a table of this transaction, then the same INSERT, reading from it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import psycopg

from .. import schema
from ..engine import Row
from ..queries import Query
from .dialect import TYPES

_INSERT = re.compile(r"INSERT INTO (\w+) \(([^)]*)\) (VALUES \(|SELECT )(.*)")
_PARAM = re.compile(r"\$(?P<place>\d+)\b")
_PLAIN = {str: "TEXT", int: "BIGINT", float: "DOUBLE PRECISION", bytes: "BYTEA"}


def insert(connection: psycopg.Connection[Row], query: Query, text: str, rows: Sequence[dict[str, Any]]) -> int:
    """How many rows it added."""
    stage = f"stage_{query.name}"
    columns = ", ".join(f"v{place} {kind}" for place, kind in enumerate(_kinds(query, text, rows), 1))
    connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS {stage} ({columns}) ON COMMIT DROP")
    connection.execute(f"TRUNCATE {stage}")
    with connection.cursor().copy(f"COPY {stage} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(query.bind(row))
    return connection.execute(_reading_from(stage, text)).rowcount


def _reading_from(stage: str, text: str) -> str:
    """`VALUES ($1, $2)` and `SELECT $1 FROM t` with the columns of the stage for the parameters."""
    text = _PARAM.sub(r"s.v\1", text)
    if " VALUES (" in text:
        head, rest = text.split(" VALUES (", 1)
        values, end = rest.rsplit(") ON CONFLICT ", 1)
        return f"{head} SELECT {values.strip()} FROM {stage} s ON CONFLICT {end}"
    return text.replace(
        " FROM ", f" FROM {stage} s CROSS JOIN LATERAL " if " FROM (" in text else f" FROM {stage} s CROSS JOIN ", 1
    )


def _kinds(query: Query, text: str, rows: Sequence[dict[str, Any]]) -> list[str]:
    """The type of each parameter: of the column it goes to, or of the first value that there is."""
    known = _types_of_parameters(text)
    return [known.get(place) or _kind_of(name, rows) for place, name in enumerate(query.names, 1)]


def _kind_of(name: str, rows: Sequence[dict[str, Any]]) -> str:
    found = next((row[name] for row in rows if row[name] is not None), "")
    return _PLAIN[type(found)]


@cache
def _types_of_parameters(text: str) -> dict[int, str]:
    found = _INSERT.match(text)
    assert found, text
    table, listed, _, values = found.groups()
    types = {column.quoted: TYPES[column.type] for column in schema.current().tables[table].columns}
    kinds: dict[int, str] = {}
    for column, value in zip(listed.split(","), values.split(","), strict=False):
        place = _PARAM.fullmatch(value.strip().rstrip(")").strip())
        if place:
            kinds.setdefault(int(place["place"]), types[column.strip()])
    return kinds
