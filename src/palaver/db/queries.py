"""SQL is named text in .sql files: `-- name: fork_head`, a line of comment, the statement.

Parameters are written `:name` and bound by position; their order is recorded here once. One text serves both
engines; `greatest(` is spelled `max(` on SQLite.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any

_SQL = Path(__file__).parent / "sql"
_HEADER = re.compile(r"^-- name: (\w+)\s*$", re.MULTILINE)
_PARAM = re.compile(r"'[^']*'|(?<!:):([a-z_]+)")
_COMMENT = re.compile(r"--[^\n]*")


class Query:
    """One statement: its name, its text, and the order of its parameters."""

    __slots__ = ("bind", "name", "names", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
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


def parse(source: str) -> Iterator[Query]:
    headers = list(_HEADER.finditer(source))
    for header, following in zip(headers, [*headers[1:], None], strict=True):
        body = source[header.end() : following.start() if following else len(source)]
        yield Query(header[1], for_sqlite(_COMMENT.sub("", body)))


def for_sqlite(text: str) -> str:
    return " ".join(text.split()).replace("greatest(", "max(").rstrip("; ") + ";"


class Queries:
    """All named statements, as attributes."""

    def __init__(self, *sources: str) -> None:
        for source in sources:
            for query in parse(source):
                if query.name in self.__dict__:
                    raise ValueError(f"two statements are named {query.name}")
                self.__dict__[query.name] = query

    def __getattr__(self, name: str) -> Query:
        raise AttributeError(f"no statement is named {name}")

    def __iter__(self) -> Iterator[Query]:
        return iter(self.__dict__.values())


@lru_cache(maxsize=1)
def _load() -> Queries:
    return Queries(*(path.read_text("utf-8") for path in sorted((_SQL / "queries").glob("*.sql"))))


def schema() -> str:
    return (_SQL / "schema.sql").read_text("utf-8")


Q = _load()
