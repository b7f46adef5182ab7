"""SQL is named text in .sql files: `-- name: fork_head`, a line of comment, the statement.

Parameters are written `:name` and bound by position; their order is recorded here once. One text serves both
engines; `greatest(` is spelled `max(` on SQLite, `least(` `min(`. `only_text(x)` is x where that is a text, and else no
JSON: a column of SQLite may hold anything.
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
        query = self.__dict__[name] = Query(name, for_sqlite(body), body)
        return query

    def __iter__(self) -> Iterator[Query]:
        return (getattr(self, name) for name in self._bodies)


def statements(text: str) -> Iterator[str]:
    """The statements of a schema or migration file, comments dropped."""
    return (statement.strip() for statement in _COMMENT.sub("", text).split(";") if statement.strip())


def _load() -> Queries:
    folder = os.path.join(_SQL, "queries")
    return Queries(*(_read(os.path.join(folder, name)) for name in sorted(os.listdir(folder)) if name.endswith(".sql")))


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def schema() -> str:
    return _read(os.path.join(_SQL, "schema.sql"))


def migrations() -> list[tuple[str, str]]:
    """(name, text) of every migration, in order. The first is the schema that the others start from."""
    folder = os.path.join(_SQL, "migrations")
    return [(name.removesuffix(".sql"), _read(os.path.join(folder, name))) for name in sorted(os.listdir(folder))]


Q = _load()
