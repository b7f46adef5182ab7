"""The two engines with nothing around them: an FTS5 table in memory, slices in a table of Postgres.

Both answer a tree with numbers of documents: first what the index gives, then, where that is not exact, what `matches`
says about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import apsw
import psycopg

from palaver.search import fts5, tsquery
from palaver.search.candidates import candidates
from palaver.search.match import Text, matches
from palaver.search.slices import slices
from palaver.search.tree import Node
from palaver.search.words import segment


class Answer(NamedTuple):
    candidates: set[int]
    exact: bool


class Engine(Protocol):
    def add(self, texts: Iterable[str]) -> None: ...
    def look_up(self, tree: Node | None) -> Answer: ...


class Fts5:
    def __init__(self) -> None:
        self._db = apsw.Connection(":memory:")
        self._db.execute(
            "CREATE VIRTUAL TABLE t USING fts5(words, pieces, content='', contentless_delete=1, tokenize=ascii)"
        )
        self._numbers: set[int] = set()

    def add(self, texts: Iterable[str]) -> None:
        for number, text in enumerate(texts, start=len(self._numbers)):
            found = segment(text)
            row = (number, " ".join(found.words), " ".join(found.pieces))
            self._db.execute("INSERT INTO t(rowid, words, pieces) VALUES (?, ?, ?)", row)
            self._numbers.add(number)

    def look_up(self, tree: Node | None) -> Answer:
        asked = fts5.lookup(tree)
        found = self._numbers if asked.match is None else self._match(asked.match)
        return Answer(found, asked.exact)

    def _match(self, expression: str) -> set[int]:
        return {number for (number,) in self._db.execute("SELECT rowid FROM t WHERE t MATCH ?", (expression,))}


class Postgres:
    def __init__(self, connection: psycopg.Connection) -> None:
        self._db = connection
        self._db.execute("CREATE TABLE slices (document integer, vector tsvector)")
        self._db.execute("CREATE INDEX ON slices USING gin (vector)")
        self._db.execute("SET enable_seqscan = off")
        self._numbers: set[int] = set()

    def add(self, texts: Iterable[str]) -> None:
        with self._db.cursor() as cursor:
            for number, text in enumerate(texts, start=len(self._numbers)):
                rows = [(number, vector) for vector in slices(*segment(text))]
                cursor.executemany("INSERT INTO slices VALUES (%s, %s::tsvector)", rows)
                self._numbers.add(number)

    def look_up(self, tree: Node | None) -> Answer:
        asked = candidates(tree)
        found = tsquery.combine(asked.tree, self._match)
        return Answer(self._numbers - found.numbers if found.inverted else set(found.numbers), asked.exact)

    def _match(self, query: str) -> frozenset[int]:
        rows = self._db.execute("SELECT DISTINCT document FROM slices WHERE vector @@ %s::tsquery", (query,))
        return frozenset(number for (number,) in rows)


@contextmanager
def postgres(dsn: str) -> Iterator[Postgres]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield Postgres(connection)


def find(engine: Engine, tree: Node | None, texts: list[Text]) -> set[int]:
    """What a search would give: candidates, and the check where it is needed."""
    answer = engine.look_up(tree)
    if answer.exact:
        return answer.candidates
    return {number for number in answer.candidates if matches(tree, texts[number])}
