"""Raw limit of what brings much in at once: stdlib sqlite3, the rows of another file into its schema, WAL + NORMAL."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from ..protocol import Adapter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Without the index of words: it is made later, and not by this SQLite.
OF_SQLITE = "name NOT LIKE 'sqlite_%' AND name NOT LIKE 'document_words%' AND sql IS NOT NULL"


class Rows:
    """Everything in a file, read before the clock starts: how its tables are made, and their rows."""

    def __init__(self, path: str) -> None:
        with closing(sqlite3.connect(path)) as source:
            made = f"SELECT sql FROM sqlite_schema WHERE {OF_SQLITE} ORDER BY type = 'table' DESC, rowid"
            self.schema = [sql for (sql,) in source.execute(made).fetchall()]
            names = source.execute(f"SELECT name FROM sqlite_schema WHERE type = 'table' AND {OF_SQLITE}").fetchall()
            self.tables = {name: source.execute(f'SELECT * FROM "{name}"').fetchall() for (name,) in names}


class Store(Adapter):
    can = frozenset({"graft"})
    notes = {"graft": "the rows are there; nothing is made, nothing is looked at"}

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.c = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL"):
            self.c.execute(f"PRAGMA {pragma}").fetchall()

    def close(self) -> None:
        self.c.close()

    def make(self, rows: Rows) -> None:
        for statement in rows.schema:
            self.c.execute(statement)

    def insert(self, rows: Rows, batches: int) -> None:
        """An equal part of every table in each transaction."""
        for batch in range(batches):
            self.c.execute("BEGIN IMMEDIATE")
            for name, given in rows.tables.items():
                self._insert(name, given[len(given) * batch // batches : len(given) * (batch + 1) // batches])
            self.c.execute("COMMIT")

    def _insert(self, name: str, rows: list[Any]) -> None:
        for row in rows:
            self.c.execute(f'INSERT INTO "{name}" VALUES ({",".join("?" * len(row))})', row)
