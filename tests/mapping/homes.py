"""Where a row of the page says that a fact lies, and what is there: read by plain SQL, from outside the verbs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import palaver
from palaver.db.sqlite.engine import SqliteDatabase

_HOME = re.compile(
    r"(?:column `(?P<owner>\w+)\.(?P<column>\w+)`|table `(?P<table>\w+)`)"
    r"(?: at `(?P<pointer>/[^`]+)`)?(?: where `(?P<name>\w+)` = `(?P<value>[^`]+)`)?"
)
_JSON = {("bodies", "body"), ("events", "data")}  # beside the columns that are called so

Picture = dict[str, list[dict[str, Any]]]  # table → its rows, by column


class Home(NamedTuple):
    """A column, a place in its JSON, or (without a column) a row as a whole; `where` says in which rows."""

    table: str
    column: str | None
    pointer: str = ""
    where: tuple[str, str] | None = None

    @property
    def columns(self) -> str:
        """What has to be selected to read it."""
        names = [self.column or "*", *(self.where or ())[:1]]
        return "*" if self.column is None else ", ".join(f'"{name}"' for name in names)

    @property
    def place(self) -> str:
        """What a scenario calls it: `turns`, `turns.model`, `chat_parts.data_json/text`."""
        return f"{self.table}.{self.column}{self.pointer}" if self.column else self.table


def parse(text: str) -> Home | None:
    found = _HOME.match(text)
    if found is None:
        return None
    where = (found["name"], found["value"]) if found["name"] else None
    return Home(found["owner"] or found["table"], found["column"], found["pointer"] or "", where)


def of_place(place: str) -> Home:
    """The home that a scenario names."""
    table, _, rest = place.partition(".")
    column, slash, pointer = rest.partition("/")
    return Home(table, column or None, slash + pointer)


def holds_json(table: str, column: str) -> bool:
    return column.endswith("_json") or (table, column) in _JSON


def picture(store: palaver.Store, tables: Iterable[str], columns: str = "*") -> Picture:
    """Every row of these tables."""
    engine = store._engine
    assert isinstance(engine, SqliteDatabase)
    with engine.read():  # a store in memory is one connection: it is ours for this long
        return {table: list(_rows(engine, table, columns)) for table in tables}


def _rows(engine: SqliteDatabase, table: str, columns: str) -> Iterator[dict[str, Any]]:
    cursor = engine._writer.execute(f'SELECT {columns} FROM "{table}"')
    for row in cursor:
        yield dict(zip((name for name, _ in cursor.get_description()), row, strict=True))


def news(home: Home, before: Picture, after: Picture) -> list[Any]:
    """What is at a home now and was not before; of equal values, as many as came."""
    were, are = Counter(_cells(home, before)), Counter(_cells(home, after))
    came = Counter(_values(home, are - were)) - Counter(_values(home, were - are))
    return [json.loads(text) for text in came.elements()]


def _cells(home: Home, rows: Picture) -> Iterator[Any]:
    """What the column holds, in the rows that are meant."""
    for row in rows.get(home.table, ()):
        if home.where is None or row[home.where[0]] == home.where[1]:
            yield text(row) if home.column is None else row[home.column]


def _values(home: Home, cells: Counter[Any]) -> Iterator[str]:
    """The values at the home, as JSON text."""
    for cell in cells.elements():
        if home.column is None:
            yield cell
        elif cell is not None:
            yield from map(text, _inside(home, cell))


def _inside(home: Home, cell: Any) -> list[Any]:
    assert home.column is not None
    if not holds_json(home.table, home.column):
        return [cell]
    found = [json.loads(cell)]
    for key in home.pointer.split("/")[1:]:
        found = [inner for outer in found for inner in _step(outer, key)]
    return found


def _step(value: Any, key: str) -> list[Any]:
    if key == "*":
        return value if isinstance(value, list) else []
    return [value[key]] if isinstance(value, dict) and key in value else []


def text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=bytes.hex)
