"""A row is read by the names of its columns, and the names are those of the statement."""

from __future__ import annotations

import re

import apsw
import pytest

from palaver.core import rows
from palaver.core.rows import Select
from palaver.db import schema
from palaver.db.queries import Q

RENAMED: dict[str | None, str] = {"index": "place"}  # a tuple has an `index` of its own
SELECTS = {name: value for name, value in vars(rows).items() if isinstance(value, Select)}


def columns_of(name: str) -> list[str]:
    """The names SQLite gives to the columns of a statement, in their order."""
    db = apsw.Connection(":memory:")
    db.execute(schema.text())
    query = getattr(Q, name)
    cursor = db.cursor()
    found: list[str] = []
    cursor.exec_trace = lambda cur, *_: found.extend(name for name, *_ in cur.get_description()) or False
    try:
        cursor.execute(query.text, dict.fromkeys(query.names))
    except apsw.ExecTraceAbort:
        pass
    return found


@pytest.mark.parametrize("name", SELECTS)
def test_a_row_has_the_columns_of_its_statement(name: str) -> None:
    select = SELECTS[name]
    columns = columns_of(select.name)
    named: list[str | None] = [column if re.fullmatch(r"\w+", column) else None for column in columns]
    assert len(columns) == len(select.row._fields)
    for column, field in zip(named, select.row._fields, strict=True):
        assert RENAMED.get(column, column) in (None, field)


def test_no_statement_has_two_kinds_of_rows() -> None:
    names = [select.name for select in SELECTS.values()]
    assert sorted(names) == sorted(set(names))
