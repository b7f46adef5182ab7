"""SQL is named text in .sql files, one for each subject: `-- name: fork_head`, a line of comment, the statement.

Parameters are written `:name` and bound by position; their order is recorded here once. One text serves both engines;
`greatest(` is spelled `max(` on SQLite, `least(` `min(`. `only_text(x)` is x where that is a text, and else no JSON: a
column of SQLite may hold anything. What is of one engine alone stands behind `-- sqlite:` or `-- postgres:`, on that
line or on those that follow; `-- plan: free` is a word to Postgres (see postgres/settings.py).

What several statements share is written once and used by its name in braces. `-- snippet: path` is used as `{path}`.
`{columns turns}` are all columns of a table, in the order of schema.sql, `{values turns}` a parameter for each,
`{sets turns}` an assignment to each but the key, and `{put turns}` an INSERT of all of them that leaves a row alone
which is there. `{space}` is filled in by who knows the space (see postgres/dialect.py).
"""

from __future__ import annotations

import os
import re
from operator import itemgetter

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_FOLDER = os.path.join(os.path.dirname(__file__), "sql", "queries")
_HEADER = re.compile(r"^-- (name|snippet): (\w+)\s*$", re.MULTILINE)
_ENGINE = re.compile(r"-- (?P<engine>sqlite|postgres): *(?P<line>.*)")
_PARAM = re.compile(r"'[^']*'|(?<!:):([a-z_]+)")
_COMMENT = re.compile(r"--[^\n]*")
_SHARED = re.compile(r"\{(\w+)(?: (\w+))?\}")
ONLY_TEXT = re.compile(r"only_text\(([^()]+)\)")


class Query:
    """One statement: its name, its text, and the order of its parameters."""

    __slots__ = ("bind", "body", "name", "names", "text")

    def __init__(self, name: str, text: str, body: str | None = None) -> None:
        self.name = name
        self.text = text
        self.body = text if body is None else body  # as it is written, for engines that spell it differently
        self.names = tuple(dict.fromkeys(n for n in _PARAM.findall(_COMMENT.sub("", self.body)) if n))
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


def of_engine(engine: str, body: str) -> str:
    """What a statement is on one engine, on one line, without comments; empty if it is of another one alone."""
    lines, is_its = [], True
    for line in body.splitlines():
        mark = _ENGINE.match(line)
        if mark and not mark["line"]:
            is_its = mark["engine"] == engine
        elif mark and mark["engine"] == engine:
            lines.append(mark["line"])
        elif is_its:
            lines.append(line)
    return " ".join(_COMMENT.sub("", "\n".join(lines)).split()).rstrip("; ")


def for_sqlite(body: str) -> str:
    """A statement of Postgres alone becomes one that SQLite refuses."""
    text = ONLY_TEXT.sub(r"CASE typeof(\1) WHEN 'text' THEN \1 ELSE '!' END", of_engine("sqlite", body))
    return text.replace("greatest(", "max(").replace("least(", "min(") + ";" if text else "of Postgres alone"


class Queries:
    """All named statements, as attributes; each is made ready when it is first used."""

    def __init__(self, *sources: str) -> None:
        self._bodies: dict[str, str] = {}
        self._snippets: dict[str, str] = {}
        for source in sources:
            for kind, name, body in _named(source):
                known = self._bodies if kind == "name" else self._snippets
                if name in known:
                    raise ValueError(f"two statements are named {name}")
                known[name] = body

    def __getattr__(self, name: str) -> Query:
        body = self._bodies.get(name)
        if body is None:
            raise AttributeError(f"no statement is named {name}")
        body = _SHARED.sub(self._shared, body)
        query = self.__dict__[name] = Query(name, for_sqlite(body), body)
        return query

    def _shared(self, found: re.Match[str]) -> str:
        word, table = found.groups()
        if table:
            return _of_table(word, table)
        if word == "space":
            return found[0]
        return _SHARED.sub(self._shared, _COMMENT.sub("", self._snippets[word]).strip())

    def __dir__(self) -> list[str]:
        """The names of all, whatever engine they are for."""
        return list(self._bodies)

    def __iter__(self) -> Iterator[Query]:
        """Those that SQLite has."""
        return (query for query in (getattr(self, name) for name in self._bodies) if of_engine("sqlite", query.body))


def _named(source: str) -> Iterator[tuple[str, str, str]]:
    """(name or snippet, what it is called, text as written), in the order of a file."""
    headers = list(_HEADER.finditer(source))
    for header, following in zip(headers, [*headers[1:], None], strict=True):
        kind, name = header.groups()
        yield kind, name, source[header.end() : following.start() if following else len(source)]


def _of_table(word: str, name: str) -> str:
    """What stands for `{columns turns}`."""
    from . import schema  # asked for by what exports and restores, and not to open a store

    table = schema.current().tables[name]
    columns = ", ".join(column.quoted for column in table.columns)
    values = ", ".join(f":{column.name}" for column in table.columns)
    return {
        "columns": columns,
        "values": values,
        "sets": ", ".join(f"{column.quoted} = :{column.name}" for column in table.columns if not column.is_key),
        "put": f"INSERT INTO {name} ({columns}) VALUES ({values}) ON CONFLICT ({', '.join(table.key)}) DO NOTHING",
    }[word]


def _load() -> Queries:
    return Queries(*(_read(os.path.join(_FOLDER, name)) for name in sorted(os.listdir(_FOLDER)) if name[-4:] == ".sql"))


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


Q = _load()
