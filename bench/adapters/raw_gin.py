"""Plain psycopg: a table of texts with a GIN index on their words."""

from __future__ import annotations

import psycopg
from psycopg import sql

from ..protocol import Adapter
from .ours_postgres import address, space_of

WORDS = "to_tsvector('simple', text)"
TABLE = "CREATE TABLE IF NOT EXISTS texts (number BIGINT PRIMARY KEY, text TEXT NOT NULL)"
INDEX = f"CREATE INDEX IF NOT EXISTS by_word ON texts USING gin ({WORDS})"
BEST = (
    f"SELECT number FROM texts, CAST(%s AS tsquery) q WHERE {WORDS} @@ q"
    f" ORDER BY ts_rank({WORDS}, q) DESC, number LIMIT 20"
)

NEWEST = f"SELECT number FROM texts WHERE {WORDS} @@ CAST(%s AS tsquery) ORDER BY number DESC LIMIT 20"


class Store(Adapter):
    can = frozenset({"search"})

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.c = psycopg.connect(address(), autocommit=True)
        schema = sql.Identifier("raw-" + space_of(path))
        self.c.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
        self.c.execute(sql.SQL("SET search_path = {}").format(schema))
        self.c.execute(TABLE)
        self.c.execute(INDEX)
        self.count = 0

    def close(self) -> None:
        self.c.close()

    def add(self, texts: list[str]) -> None:
        """In one transaction."""
        with self.c.transaction(), self.c.cursor() as cursor:
            cursor.executemany("INSERT INTO texts VALUES (%s, %s)", enumerate(texts, self.count))
        self.count += len(texts)

    def best(self, query: str) -> list[int]:
        return [number for (number,) in self.c.execute(BEST, (query,)).fetchall()]

    def newest(self, query: str) -> list[int]:
        return [number for (number,) in self.c.execute(NEWEST, (query,)).fetchall()]
