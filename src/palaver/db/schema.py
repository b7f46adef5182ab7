"""The schema as values: what `sql/schema.sql` creates, table by table, read once and only when somebody asks.

A migration compares a file with it, a COPY takes the types of columns from it, an export and the statements that name
every column of a table take the columns. A plain open asks nothing, and imports this module not at all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

_SQL = os.path.join(os.path.dirname(__file__), "sql")
_COMMENT = re.compile(r"--[^\n]*")
_ENGINE = re.compile(r"^-- (sqlite|postgres):\s*$", re.MULTILINE)
_CREATE = re.compile(r"CREATE (VIRTUAL TABLE|TABLE|INDEX|UNIQUE INDEX|VIEW) (\w+)\s*(?:ON (\w+) )?(.*)", re.DOTALL)
_LIST = re.compile(r"\((.*)\)\s*([^()]*)$", re.DOTALL)
_COMMA = re.compile(r",(?![^()]*\))")  # not one inside brackets
_REFERS = re.compile(r"REFERENCES (\w+) \((\w+)\)(?: ON DELETE (\w+))?")
_DEFAULT = re.compile(r"DEFAULT (?P<value>\S+)")


class Reference(NamedTuple):
    """A foreign key of one column."""

    table: str
    column: str
    on_delete: str | None


class Column(NamedTuple):
    name: str
    quoted: str  # as a statement names it: one of ours is a word of SQL
    type: str  # TEXT, INTEGER, REAL or BLOB
    definition: str  # as it is written behind the name, the type included
    is_key: bool  # alone, or with others
    is_required: bool  # NOT NULL; what is not may still be a key
    default: str | None
    refers: Reference | None


class Table(NamedTuple):
    name: str
    sql: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]


class Index(NamedTuple):
    name: str
    sql: str
    table: str
    columns: tuple[str, ...]
    where: str | None


class View(NamedTuple):
    name: str
    sql: str


class Virtual(NamedTuple):
    """A table that a module of SQLite keeps."""

    name: str
    sql: str


class Schema:
    """What a schema file creates, in its order; the tables also by name."""

    def __init__(self, text: str) -> None:
        self.all = [_created(statement) for statement in statements(text)]
        self.tables = {one.name: one for one in self.all if isinstance(one, Table)}
        self.indexes = [one for one in self.all if isinstance(one, Index)]


@cache
def current() -> Schema:
    """The one of this Palaver."""
    return Schema(text())


def text(engine: str = "sqlite") -> str:
    """The whole schema, as one engine is given it."""
    return _of(engine, _read(os.path.join(_SQL, "schema.sql")))


def migrations() -> list[tuple[str, str]]:
    """(name, text) of every migration, in order. The first is the schema that the others start from."""
    folder = os.path.join(_SQL, "migrations")
    return [(name.removesuffix(".sql"), _read(os.path.join(folder, name))) for name in sorted(os.listdir(folder))]


def statements(text: str, engine: str = "sqlite") -> Iterator[str]:
    """The statements of a schema or migration file, comments dropped. What is of one engine alone stands at its end,
    behind `-- sqlite:` or `-- postgres:`."""
    bare = _COMMENT.sub("", _of(engine, text))
    return (statement.strip() for statement in bare.split(";") if statement.strip())


def _of(engine: str, text: str) -> str:
    shared, *marked = _ENGINE.split(text)
    own = [body for name, body in zip(marked[::2], marked[1::2], strict=True) if name == engine]
    return "".join([shared, *own])


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _created(statement: str) -> Table | Index | View | Virtual:
    match = _CREATE.match(statement)
    assert match, statement
    kind, name, table, rest = match.groups()
    if kind == "VIEW":
        return View(name, statement)
    if kind == "VIRTUAL TABLE":
        return Virtual(name, statement)
    listed = _LIST.match(rest) if kind == "TABLE" else re.match(r"\(([^)]*)\)\s*(.*)", rest, re.DOTALL)
    assert listed, statement
    inside, tail = listed.groups()
    items = [item.strip() for item in _COMMA.split(inside)]
    if kind.endswith("INDEX"):
        return Index(name, statement, table, tuple(_bare(item) for item in items), _condition(tail))
    return _table(name, statement, items)


def _condition(tail: str) -> str | None:
    return tail.removeprefix("WHERE ") if tail.startswith("WHERE ") else None


def _table(name: str, statement: str, items: list[str]) -> Table:
    """A key of several columns is written behind them."""
    constraints = [item for item in items if item.startswith("PRIMARY KEY")]
    shared = [_bare(one) for item in constraints for one in item[item.index("(") + 1 : -1].split(",")]
    columns = tuple(_column(item, shared) for item in items if item not in constraints)
    return Table(name, statement, columns, tuple(shared or [column.name for column in columns if column.is_key]))


def _column(item: str, shared: list[str]) -> Column:
    quoted, definition = item.split(None, 1)
    name, definition = _bare(quoted), " ".join(definition.split())
    is_key = name in shared or "PRIMARY KEY" in definition
    default, refers = _DEFAULT.search(definition), _REFERS.search(definition)
    return Column(
        name,
        quoted,
        definition.split()[0],
        definition,
        is_key,
        "NOT NULL" in definition,
        default["value"] if default else None,
        Reference(*refers.groups()) if refers else None,
    )


def _bare(name: str) -> str:
    return name.strip().strip('"')
