"""SQL is named text in .sql files: `-- name: fork_head`, a line of comment, the statement.

Parameters are written `:name` and bound by position; their order is recorded here once. One text serves both
engines; `greatest(` is spelled `max(` on SQLite, `least(` `min(`. `only_text(x)` is x where that is a text, and else no
JSON: a column of SQLite may hold anything.

What several statements share is written once: `{columns turns}` are all columns of a table, in the order of schema.sql,
`{values turns}` a parameter for each, `{sets turns}` an assignment to each but the key, and `{put turns}` an INSERT of
all of them that leaves a row alone which is there.
"""

from __future__ import annotations

import os
import re
from operator import itemgetter

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_SQL = os.path.join(os.path.dirname(__file__), "sql")
_HEADER = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_PARAM = re.compile(r"'[^']*'|(?<!:):([a-z_]+)")
_COMMENT = re.compile(r"--[^\n]*")
_SHARED = re.compile(r"\{(\w+) (\w+)\}")
ONLY_TEXT = re.compile(r"only_text\(([^()]+)\)")


class Query:
    """One statement: its name, its text, and the order of its parameters."""

    __slots__ = ("bind", "body", "name", "names", "text")

    def __init__(self, name: str, text: str, body: str | None = None) -> None:
        self.name = name
        self.text = text
        self.body = text if body is None else body  # as it is written, for engines that spell it differently
        self.names = tuple(dict.fromkeys(n for n in _PARAM.findall(text) if n))
        self.bind = _binder(self.names)

    def __repr__(self) -> str:
        return f"<Query {self.name}>"


def _binder(names: tuple[str, ...]) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    if not names:
        return lambda params: ()
    if len(names) == 1:
        only = names[0]
        return lambda params: (params[only],)
    return itemgetter(*names)


def bodies(source: str) -> Iterator[tuple[str, str]]:
    """(name, text as written) of each statement in a file."""
    headers = list(_HEADER.finditer(source))
    for header, following in zip(headers, [*headers[1:], None], strict=True):
        yield header[1], source[header.end() : following.start() if following else len(source)]


def for_sqlite(text: str) -> str:
    words = " ".join(_COMMENT.sub("", text).split())
    words = ONLY_TEXT.sub(r"CASE typeof(\1) WHEN 'text' THEN \1 ELSE '!' END", words)
    return words.replace("greatest(", "max(").replace("least(", "min(").rstrip("; ") + ";"


def _of_table(found: re.Match[str]) -> str:
    """What a statement that names every column of a table has in the place of `{columns turns}`."""
    from . import schema  # asked for by what exports and restores, and not to open a store

    table = schema.current().tables[found[2]]
    columns = ", ".join(column.quoted for column in table.columns)
    values = ", ".join(f":{column.name}" for column in table.columns)
    if found[1] == "columns":
        return columns
    if found[1] == "values":
        return values
    if found[1] == "sets":
        return ", ".join(f"{column.quoted} = :{column.name}" for column in table.columns if not column.is_key)
    assert found[1] == "put", found[0]
    return f"INSERT INTO {table.name} ({columns}) VALUES ({values}) ON CONFLICT ({', '.join(table.key)}) DO NOTHING"


class Queries:
    """All named statements, as attributes; each is made ready when it is first used."""

    def __init__(self, *sources: str) -> None:
        self._bodies: dict[str, str] = {}
        for source in sources:
            for name, body in bodies(source):
                if name in self._bodies:
                    raise ValueError(f"two statements are named {name}")
                self._bodies[name] = body

    def __getattr__(self, name: str) -> Query:
        body = self._bodies.get(name)
        if body is None:
            raise AttributeError(f"no statement is named {name}")
        body = _SHARED.sub(_of_table, body)
        query = self.__dict__[name] = Query(name, for_sqlite(body), body)
        return query

    def __iter__(self) -> Iterator[Query]:
        return (getattr(self, name) for name in self._bodies)


def _load() -> Queries:
    folder = os.path.join(_SQL, "queries")
    return Queries(*(_read(os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if name.endswith(".sql")))


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


Q = _load()
