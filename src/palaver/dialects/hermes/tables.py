"""The tables of a database that may be damaged: rows by the names of their columns, and what cannot be read, by range.

A table is gone through by the numbers of its rows. Where a page is damaged, the next row that can be read is looked for
behind it.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cached_property
from typing import Any, NamedTuple

_FIRST, _LAST = -(2**63), 2**63 - 1
_TRIES = 20_000  # statements that may fail in one table
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


class Column(NamedTuple):
    name: str
    default: Any  # what a row has that says nothing


class Gap(NamedTuple):
    """Rows that cannot be read: none of these numbers, if there were any."""

    table: str
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.table}: rows {self.first:,} to {self.last:,}" if self.last < _LAST else f"{self.table}: the rest"


class Broken(bytes):
    """Text that is no UTF-8."""


def as_text(data: bytes) -> str | Broken:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return Broken(data)


class Table:
    _select: str

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self.name = name
        self.gaps: list[Gap] = []
        self._connection = connection
        self._failed = 0
        about = connection.execute(f"PRAGMA table_info({quoted(name)})").fetchall()
        self.columns = [Column(str(column), _default(given)) for _, column, _, _, given, _ in about]

    def __contains__(self, column: str) -> bool:
        return any(column == one.name for one in self.columns)

    def count(self) -> int | None:
        try:
            [(found,)] = self._connection.execute(f"SELECT count(*) FROM {quoted(self.name)}")
        except sqlite3.DatabaseError:
            return None
        return int(found)

    def keys(self, *columns: str) -> Iterator[tuple[Any, ...]]:
        """The number of each row that can be read, and some of its columns, in the order of the numbers."""
        wanted = ["rowid", *(quoted(name) if name in self else "NULL" for name in columns)]
        table = f"{quoted(self.name)} NOT INDEXED"
        self._select = f"SELECT {', '.join(wanted)} FROM {table} WHERE rowid >= ? ORDER BY rowid"
        at: int | None = _FIRST
        while at is not None:
            try:
                with closing(self._connection.execute(self._select, (at,))) as found:
                    for row in found:
                        number, *_ = row
                        if number >= at:  # damage may lead back
                            at = number + 1
                            yield row
                return
            except sqlite3.DatabaseError:
                at = self._behind(at)

    def row(self, number: int) -> dict[str, Any] | None:
        """A row by its number; None: it cannot be read."""
        try:
            found = self._connection.execute(f"SELECT * FROM {quoted(self.name)} WHERE rowid = ?", (number,)).fetchone()
        except sqlite3.DatabaseError:
            found = None
        if found is None:
            self.gaps.append(Gap(self.name, number, number))
            return None
        return {column.name: value for column, value in zip(self.columns, found, strict=True)}

    def _behind(self, at: int) -> int | None:
        """The next number from which something can be read: in steps that double, then by halves."""
        bad, step = at, 1
        while not self._is_readable(good := min(at + step, self._highest)):
            bad, step = good, step * 2
            if good >= self._highest or self._failed > _TRIES:
                self.gaps.append(Gap(self.name, at, self._highest))
                return None
        while good - bad > 1:
            middle = (bad + good) // 2
            bad, good = (bad, middle) if self._is_readable(middle) else (middle, good)
        self.gaps.append(Gap(self.name, at, good - 1))
        return good

    def _is_readable(self, number: int) -> bool:
        try:
            with closing(self._connection.execute(f"{self._select} LIMIT 1", (number,))) as found:
                return found.fetchone() is not None
        except sqlite3.DatabaseError:
            self._failed += 1
            return False

    @cached_property
    def _highest(self) -> int:
        """The number of the last row, or one that is higher."""
        try:
            [(found,)] = self._connection.execute(f"SELECT max(rowid) FROM {quoted(self.name)}")
            return int(found or 0)
        except sqlite3.DatabaseError:
            return _LAST


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _default(given: Any) -> Any:
    """As a table's declaration has it: a number, a text in quotes, or nothing that can be told."""
    if not isinstance(given, str):
        return None
    if _NUMBER.fullmatch(given):
        return float(given) if "." in given else int(given)
    if len(given) > 1 and given[0] == given[-1] == "'":
        return given[1:-1].replace("''", "'")
    return None
