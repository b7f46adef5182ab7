"""Plain FTS5 with texts of its own: a table of words (unicode61), one of trigrams. On apsw: the same SQLite as ours."""

from __future__ import annotations

import apsw

from ..protocol import Adapter

TOKENIZERS = {"plain": "unicode61", "trigrams": "trigram"}
BEST = "SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rank LIMIT 20"
NEWEST = "SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT 20"
COUNT = "SELECT count(*) FROM {table} WHERE {table} MATCH ?"


class Store(Adapter):
    can = frozenset({"search"})

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.c = apsw.Connection(path)
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "mmap_size=0"):
            self.c.execute(f"PRAGMA {pragma}").fetchall()
        for table, tokenizer in TOKENIZERS.items():
            self.c.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS {table} USING fts5(text, tokenize='{tokenizer}')")

    def close(self) -> None:
        self.c.close()

    def add(self, table: str, texts: list[str]) -> None:
        """In one transaction."""
        self.c.execute("BEGIN")
        self.c.executemany(f"INSERT INTO {table} (text) VALUES (?)", ((text,) for text in texts))
        self.c.execute("COMMIT")

    def ask(self, statement: str, table: str, match: str) -> list[int]:
        return [number for (number,) in self.c.execute(statement.format(table=table), (match,)).fetchall()]
