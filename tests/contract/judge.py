"""A judge that knows only the written contract: three tables, plain SQL, no code of the library under test.

It rebuilds every session from the rows alone, and runs judge.sql: each promise of the contract as a query that must
find nothing. Where a process has the file open through Palaver it reads through apsw (one SQLite library per process);
by itself (`python judge.py FILE`) it needs nothing but the standard library.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple


class Violation(NamedTuple):
    """Which promise was broken, and by which row."""

    promise: int
    rule: str
    row: tuple[Any, ...]


class Verdict(NamedTuple):
    """Everything the judge saw in one snapshot."""

    transcripts: dict[str, list[dict[str, Any]]]
    violations: list[Violation]


# ---------------------------------------------------------------- rebuilding

_SESSIONS = "SELECT id FROM chat_sessions ORDER BY id"
_MESSAGES = "SELECT id, role, metadata_json FROM chat_messages WHERE session_id = ? ORDER BY created_at, id"
_PARTS = 'SELECT data_json FROM chat_parts WHERE message_id = ? ORDER BY "index"'
_LIST = "SELECT id, total_tokens FROM chat_sessions WHERE archived_at IS NULL ORDER BY updated_at DESC, id DESC"


def transcript(db: Any, session_id: str) -> list[dict[str, Any]]:
    """A session as the next call of the loop would load it: neither hidden nor queued messages."""
    found = []
    for message_id, role, text in _rows(db, _MESSAGES, session_id):
        metadata = json.loads(text)
        if metadata.get("hidden_at") is not None or metadata.get("queued_at") is not None:
            continue
        parts = [json.loads(data) for (data,) in _rows(db, _PARTS, message_id)]
        found.append({"id": message_id, "role": role, "metadata": metadata, "parts": parts})
    return found


def transcripts(db: Any) -> dict[str, list[dict[str, Any]]]:
    return {session: transcript(db, session) for (session,) in _rows(db, _SESSIONS)}


def listing(db: Any) -> list[tuple[str, int]]:
    """The picker: recent sessions and their tokens, from one table."""
    return [tuple(row) for row in _rows(db, _LIST)]


# ---------------------------------------------------------------- promises, by their number in the ledger

INDEXES = (
    (12, "chat_sessions", ["agent", "updated_at"]),
    (12, "chat_sessions", ["workspace_root", "updated_at"]),
    (12, "chat_sessions", ["parent_id"]),
    (12, "chat_sessions", ["archived_at"]),
    (13, "chat_messages", ["session_id", "created_at"]),
    (14, "chat_parts", ["message_id", "index"]),
    (14, "chat_parts", ["session_id"]),
    (14, "chat_parts", ["tool_call_id"]),
)
STRICT_TIME = 74


def _promises() -> list[tuple[int, str, str]]:
    """(promise, rule, a query that must return no row), from judge.sql."""
    text = Path(__file__).with_name("judge.sql").read_text()
    found = re.findall(r"^-- (\d+): (.*)\n([^;]+;)", text, re.MULTILINE)
    return [(int(number), rule, query) for number, rule, query in found]


PROMISES = _promises()


def violations(db: Any, *, strict_time: bool = True) -> list[Violation]:
    """Every promise that a row breaks. Other programs may give two messages the same time: `strict_time=False`."""
    found = []
    for promise, rule, query in PROMISES:
        if strict_time or promise != STRICT_TIME:
            found += [Violation(promise, rule, tuple(row)) for row in _rows(db, query)]
    return found + list(_missing_indexes(db))


def _missing_indexes(db: Any) -> Iterator[Violation]:
    for promise, table, columns in INDEXES:
        if columns not in indexes_of(db, table):
            yield Violation(promise, f"{table} has its required indexes", (table, *columns))


def indexes_of(db: Any, table: str) -> list[list[str]]:
    """The columns of each index of a table."""
    names = [row[1] for row in _rows(db, f'PRAGMA index_list("{table}")')]
    return [[row[2] for row in _rows(db, f'PRAGMA index_info("{name}")')] for name in names]


# ---------------------------------------------------------------- opening


@contextmanager
def opened(path: str | Path) -> Iterator[Any]:
    """The file, read-only, through the SQLite library that the process has open anyway."""
    import apsw

    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as db:
        db.set_busy_timeout(5000)
        yield db


def look(path: str | Path, *, strict_time: bool = True) -> Verdict:
    """One snapshot of the whole file."""
    with opened(path) as db:
        return _look(db, strict_time)


def rules_broken(path: str | Path) -> list[Violation]:
    """The promises alone, for a file whose rows may be too broken to rebuild."""
    with opened(path) as db:
        return violations(db)


def _look(db: Any, strict_time: bool) -> Verdict:
    db.execute("BEGIN")
    try:
        return Verdict(transcripts(db), violations(db, strict_time=strict_time))
    finally:
        db.execute("ROLLBACK")


def _rows(db: Any, query: str, *params: Any) -> Iterable[tuple[Any, ...]]:
    return list(db.execute(query, params))


def main(path: str) -> None:
    import sqlite3

    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5, isolation_level=None)) as db:
        json.dump(_look(db, strict_time=False)._asdict(), sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
