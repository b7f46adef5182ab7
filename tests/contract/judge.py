"""A judge that knows only the written contract: three tables, plain SQL, no code of the library under test.

It rebuilds every session from the rows alone, and checks each promise of the contract as a query that must find
nothing. In a process that has the file open through Palaver it reads through apsw (one SQLite library per process);
by itself (`python judge.py FILE`) it needs nothing but the standard library.
"""

from __future__ import annotations

import json
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
        if "hidden_at" in metadata or "queued_at" in metadata:
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

_FIVE = "prompt_tokens + completion_tokens + reasoning_tokens + cache_read + cache_write"
_IS_TOOL = "(type = 'dynamic-tool' OR type LIKE 'tool-%')"
_JSON_COLUMNS = (
    ("chat_sessions", "model_json", "object"),
    ("chat_sessions", "permissions_json", "array"),
    ("chat_sessions", "metadata_json", "object"),
    ("chat_messages", "metadata_json", "object"),
    ("chat_parts", "data_json", "object"),
)
_JSON_PROMISE = {"permissions_json": 7, "metadata_json": 8, "model_json": 5, "data_json": 18}
_ROLLUPS = (
    ("prompt_tokens", "input"),
    ("completion_tokens", "output"),
    ("reasoning_tokens", "reasoning"),
    ("cache_read", "cache_read"),
    ("cache_write", "cache_write"),
)
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


def _queries() -> Iterator[tuple[int, str, str]]:
    """(promise, rule, a query that must return no row)."""
    for table, prefix in (("chat_sessions", "ses_"), ("chat_messages", "msg_"), ("chat_parts", "prt_")):
        yield 2, f"{table}.id begins with {prefix}", f"SELECT id FROM {table} WHERE substr(id, 1, 4) <> '{prefix}'"
    for table, column, kind in _JSON_COLUMNS:
        yield from _json_queries(table, column, kind)
    for table in ("chat_sessions", "chat_messages", "chat_parts"):
        yield from _time_queries(table)
    yield from _message_and_part_queries()
    yield from _session_queries()


def _json_queries(table: str, column: str, kind: str) -> Iterator[tuple[int, str, str]]:
    where = f"{column} IS NULL OR NOT json_valid({column})"
    yield 9, f"{table}.{column} is valid JSON", f"SELECT id, {column} FROM {table} WHERE {where}"
    typed = f"SELECT id, {column} FROM {table} WHERE json_valid({column}) AND json_type({column}) <> '{kind}'"
    yield _JSON_PROMISE[column], f"{table}.{column} is an {kind}", typed


def _time_queries(table: str) -> Iterator[tuple[int, str, str]]:
    whole = "typeof(created_at) = 'integer' AND typeof(updated_at) = 'integer'"
    yield 10, f"{table} times are integers", f"SELECT id, created_at FROM {table} WHERE NOT ({whole})"
    ms = "created_at BETWEEN 100000000000 AND 100000000000000"
    yield 10, f"{table} times are milliseconds", f"SELECT id, created_at FROM {table} WHERE NOT ({ms})"
    yield 10, f"{table}.updated_at is not before created_at", f"SELECT id FROM {table} WHERE updated_at < created_at"


def _message_and_part_queries() -> Iterator[tuple[int, str, str]]:
    yield 15, "a role is one of three", (
        "SELECT id, role FROM chat_messages WHERE role NOT IN ('user', 'assistant', 'system')"
    )
    yield 16, "parts are numbered 0 to n-1", (
        'SELECT message_id FROM chat_parts GROUP BY message_id HAVING min("index") <> 0'
        ' OR max("index") <> count(*) - 1 OR count(DISTINCT "index") <> count(*)'
    )
    yield 17, "type is the type in data_json", (
        "SELECT id, type FROM chat_parts WHERE json_valid(data_json) AND type IS NOT json_extract(data_json, '$.type')"
    )
    yield 17, "a part type is one of the AI SDK's", (
        "SELECT id, type FROM chat_parts WHERE type NOT IN ('text', 'reasoning', 'dynamic-tool', 'file', 'source-url',"
        " 'source-document', 'step-start') AND type NOT LIKE 'tool-_%' AND type NOT LIKE 'data-_%'"
    )
    yield 20, "a tool state is one of seven", (
        "SELECT id, tool_state FROM chat_parts WHERE tool_state NOT IN ('input-streaming', 'input-available',"
        " 'approval-requested', 'approval-responded', 'output-available', 'output-error', 'output-denied')"
    )
    yield 20, "the hoisted columns equal data_json", (
        f"SELECT id FROM chat_parts WHERE {_IS_TOOL} AND json_valid(data_json) AND ("
        "tool_call_id IS NOT json_extract(data_json, '$.toolCallId')"
        " OR tool_state IS NOT json_extract(data_json, '$.state'))"
    )
    yield 20, "only tool parts have tool columns", (
        f"SELECT id FROM chat_parts WHERE NOT {_IS_TOOL} AND (tool_call_id IS NOT NULL OR tool_state IS NOT NULL)"
    )
    yield 22, "a part is in its message's session", (
        "SELECT p.id FROM chat_parts p LEFT JOIN chat_messages m ON m.id = p.message_id"
        " WHERE m.session_id IS NOT p.session_id"
    )
    yield 26, "parts are flat", (
        "SELECT name FROM pragma_table_info('chat_parts') WHERE name LIKE '%parent%' OR name LIKE '%part_id%'"
    )


def _session_queries() -> Iterator[tuple[int, str, str]]:
    yield 1, "messages belong to a session that exists", (
        "SELECT m.id FROM chat_messages m LEFT JOIN chat_sessions s ON s.id = m.session_id WHERE s.id IS NULL"
    )
    yield 5, "model_json names provider and model", (
        "SELECT id FROM chat_sessions WHERE json_valid(model_json) AND (json_type(model_json, '$.provider_id')"
        " IS NOT 'text' OR json_type(model_json, '$.model_id') IS NOT 'text')"
    )
    yield 6, "a branch forks from a user message of its parent", (
        "SELECT s.id FROM chat_sessions s LEFT JOIN chat_messages m ON m.id = s.parent_message_id"
        " WHERE s.parent_message_id IS NOT NULL AND (m.session_id IS NOT s.parent_id OR m.role IS NOT 'user')"
    )
    for column, key in _ROLLUPS:
        told = (
            f"SELECT coalesce(sum(json_extract(m.metadata_json, '$.usage.{key}')), 0) FROM chat_messages m"
            " WHERE m.session_id = s.id AND m.role = 'assistant' AND json_valid(m.metadata_json)"
        )
        yield 158, f"{column} sums usage.{key}", f"SELECT s.id, s.{column} FROM chat_sessions s WHERE s.{column} <> ({told})"
    yield 159, "total_tokens is the sum of the five", f"SELECT id FROM chat_sessions WHERE total_tokens <> {_FIVE}"


_STRICT_TIME = (
    74,
    "created_at strictly increases within a session",
    "SELECT session_id, created_at FROM chat_messages GROUP BY session_id, created_at HAVING count(*) > 1",
)


def violations(db: Any, *, strict_time: bool = True) -> list[Violation]:
    """Every promise that a row breaks. Other programs may give two messages the same time: `strict_time=False`."""
    found = []
    for promise, rule, query in [*_queries(), *([_STRICT_TIME] if strict_time else [])]:
        found += [Violation(promise, rule, tuple(row)) for row in _rows(db, query)]
    found += [Violation(1, "foreign keys hold", tuple(row)) for row in _rows(db, "PRAGMA foreign_key_check")]
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
