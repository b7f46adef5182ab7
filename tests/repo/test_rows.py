"""A row is read by the names of its columns, and the names are those of the statement."""

from __future__ import annotations

import re
from pathlib import Path

import apsw
import pytest

import palaver
from palaver.core import rows
from palaver.core.numbered import records as numbered
from palaver.core.rows import Select
from palaver.core.search import records as searching
from palaver.core.upkeep import records
from palaver.db import schema
from palaver.db.queries import Q, of_engine

from .tuples import House, counted

RENAMED: dict[str | None, str] = {"index": "place"}  # a tuple has an `index` of its own
SELECTS = {
    name: value
    for name, value in (vars(rows) | vars(records) | vars(searching) | vars(numbered)).items()
    if isinstance(value, Select)
}


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


OF_SQLITE = [name for name, select in SELECTS.items() if of_engine("sqlite", getattr(Q, select.name).body)]


@pytest.mark.parametrize("name", OF_SQLITE)
def test_a_row_has_the_columns_of_its_statement(name: str) -> None:
    select = SELECTS[name]
    columns = columns_of(select.name)
    named: list[str | None] = [column if re.fullmatch(r"\w+", column) else None for column in columns]
    assert len(columns) == len(select.row._fields)
    for column, field in zip(named, select.row._fields, strict=True):
        assert RENAMED.get(column, column) in (None, field)


def selects_in(source: str) -> list[tuple[str, str]]:
    """(what it is called, its statement) of each, as written: a name that is given twice would hide the first."""
    return re.findall(r'^(\w+) = Select\("(\w+)"', source, re.MULTILINE)


def test_no_statement_has_two_kinds_of_rows() -> None:
    written = [
        each
        for module in (rows, records, searching, numbered)
        for each in selects_in(Path(module.__file__).read_text())
    ]
    assert len(written) == len(SELECTS) > 50
    for called in zip(*written, strict=True):
        assert sorted(called) == sorted(set(called))


def test_a_statement_that_is_named_twice_is_seen() -> None:
    twice = 'a = Select("x", Row)\nb = Select("x", Row)\n'
    assert selects_in(twice) == [("a", "x"), ("b", "x")]


# ---------------------------------------------------------------- nobody counts columns

ROOT = Path(palaver.__file__).parent
SOURCES = {path: path.read_text() for path in sorted(ROOT.rglob("*.py")) if path.parent.name != "testing"}


def test_no_column_and_no_field_is_read_by_its_number() -> None:
    house = House((path.stem, source) for path, source in SOURCES.items())
    found = {str(path.relative_to(ROOT)): counted(source, house, path.stem) for path, source in SOURCES.items()}
    assert {path: places for path, places in found.items() if places} == {}


@pytest.mark.parametrize(
    "source",
    [
        "def f(tx):\n    row = tx.one(Q.x)\n    return row[3]",
        "def f(tx):\n    return [each[0] for each in tx.all(Q.x)]",
        "def f(tx):\n    return (tx.one(Q.x) or ('',))[0]",
        "def f(tx):\n    return tx.all(Q.x)[0][1]",
        "def f(tx):\n    row = rows.head.one(tx)\n    return row[-1]",
        "def f(tx):\n    if row := tx.one(Q.x):\n        return lambda: row[1]",
        "def f(row: Row):\n    return row[1]\nRow = tuple[Any, ...]",
        "def f(row: HeadRow | None):\n    return row[1]\nclass HeadRow(NamedTuple):\n    id: str",
        "def f(found: list[HeadRow]):\n    return found[0][1]\nclass HeadRow(NamedTuple):\n    id: str",
        "def f(x):\n    return pair(x)[1]\ndef pair(x) -> tuple[str, int]: ...",
        "def f(x):\n    return [one[1] for one in pairs(x)]\ndef pairs(x) -> Iterator[tuple[str, int]]: ...",
        "def f(x):\n    return sorted(pairs(x), key=lambda one: one[1])\ndef pairs(x) -> list[tuple[str, int]]: ...",
        "class A:\n    def __init__(self):\n        self.pair: tuple[str, int] = ('', 0)\n"
        "    def f(self):\n        return self.pair[1]",
        "class A:\n    pairs: dict[str, tuple[str, int]]\n    def f(self):\n        return self.pairs['x'][1]",
        "class A:\n    part: Item | None\ndef f(a):\n    return a.part[1]\nItem = tuple[str, int]",
        "def f(given: tuple[str, tuple[int, int]]):\n    name, span = given\n    return span[0]",
        "def f(url):\n    return url.partition('#')[2]",
        "def f(x):\n    found = PATTERN.match(x)\n    return found[1]",
        "def f(x):\n    return PATTERN.sub(lambda found: found[2], x)",
    ],
)
def test_a_column_or_a_field_that_is_read_by_its_number_is_seen(source: str) -> None:
    assert len(counted(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "def f(tx):\n    a, b = tx.one(Q.x)\n    return a",
        "def f(tx):\n    page = tx.all(Q.x)\n    return page[-1]",
        "def f(row: HeadRow):\n    return row.id\nclass HeadRow(NamedTuple):\n    id: str",
        "def f(words: tuple[str, ...]):\n    return words[0]",
        "def f(line: str):\n    return line.split(' ')[0]\ndef split(x) -> tuple[str, str]: ...",
        "def f(x):\n    found = PATTERN.match(x)\n    return found['name'] or found[0]",
    ],
)
def test_what_is_read_by_name_and_what_is_a_list_of_things_is_left_alone(source: str) -> None:
    assert counted(source) == []
