"""The file itself: tables, columns, indexes and pragmas as the contract writes them, and lists that use the indexes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import apsw
import pytest

import palaver
from palaver.db.queries import Q, Queries, Query

from . import judge
from .support import say, sql

# Typed from the contract: column, type, required. A primary key is required by being one.
COLUMNS = {
    "chat_sessions": """
        id TEXT PK, agent TEXT required, workspace_root TEXT optional, model_json TEXT required,
        parent_id TEXT optional, parent_message_id TEXT optional, permissions_json TEXT required,
        metadata_json TEXT required, prompt_tokens INTEGER required, completion_tokens INTEGER required,
        reasoning_tokens INTEGER required, cache_read INTEGER required, cache_write INTEGER required,
        total_tokens INTEGER required, cost_usd REAL required, created_at INTEGER required,
        updated_at INTEGER required, archived_at INTEGER optional""",
    "chat_messages": """
        id TEXT PK, session_id TEXT required, role TEXT required, metadata_json TEXT required,
        created_at INTEGER required, updated_at INTEGER required""",
    "chat_parts": """
        id TEXT PK, message_id TEXT required, session_id TEXT required, index INTEGER required, type TEXT required,
        data_json TEXT required, tool_call_id TEXT optional, tool_state TEXT optional, created_at INTEGER required,
        updated_at INTEGER required""",
}
DEFAULT_ZERO = ["prompt_tokens", "completion_tokens", "reasoning_tokens", "cache_read", "cache_write", "total_tokens"]
CONTRACT = tuple(COLUMNS)
PAGE = Path(__file__).parents[2] / "docs" / "contract.md"


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A plain connection to a store with some sessions in it."""
    path = str(tmp_path_factory.mktemp("catalogue") / "talks.db")
    with palaver.open(path) as store:
        for number in range(3):
            session = store.sessions.create(f"agent-{number}", workspace=f"/w/{number}")
            say(session, "hello", "hi")
        session.fork()
        with judge.opened(path) as connection:
            yield connection


def rows(db: Any, query: str, params: Any = ()) -> list[Any]:
    return list(db.execute(query, params))


# ---------------------------------------------------------------- tables


def listed_as_ours(page: str) -> set[str]:
    section = page.partition("## Not in the contract\n")[2].partition("They may be read")[0]
    return set(re.findall(r"`(\w+)`", section))


def test_the_page_lists_every_table_that_is_not_in_the_contract(db: Any) -> None:
    there = {name for (name,) in rows(db, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")}
    ours = {name for name in there if not name.startswith("sqlite_")} - set(CONTRACT)
    page = PAGE.read_text("utf-8")
    assert listed_as_ours(page) == ours
    assert listed_as_ours(page.replace("`journal`, ", "")) == ours - {"journal"}


@pytest.mark.parametrize("table", CONTRACT)
def test_a_table_has_the_columns_of_the_contract_in_order_and_no_other(db: Any, table: str) -> None:
    found = [
        f"{name} {kind} {'PK' if key else 'required' if required else 'optional'}"
        for _, name, kind, required, _, key in rows(db, f"PRAGMA table_info({table})")
    ]
    assert found == [" ".join(column.split()) for column in COLUMNS[table].split(",")]


def test_counts_and_cost_default_to_zero(store: palaver.Store) -> None:
    store.sessions.create("coder")
    row = "INSERT INTO chat_sessions (id, agent, model_json, permissions_json, metadata_json, created_at, updated_at)"
    columns = ", ".join([*DEFAULT_ZERO, "cost_usd"])
    *_, found = sql(
        store.path,
        f"{row} VALUES ('ses_x', 'a', '{{}}', '[]', '{{}}', 1, 1)",
        f"SELECT {columns}, typeof(cost_usd) FROM chat_sessions WHERE id = 'ses_x'",
    )
    assert found == [(0, 0, 0, 0, 0, 0, 0.0, "real")]


@pytest.mark.parametrize(("promise", "table", "columns"), judge.INDEXES)
def test_a_required_index_exists(db: Any, promise: int, table: str, columns: list[str]) -> None:
    assert columns in judge.indexes_of(db, table)


def test_messages_and_parts_go_with_what_they_belong_to(db: Any) -> None:
    keys = {table: [tuple(row)[2:7] for row in rows(db, f"PRAGMA foreign_key_list({table})")] for table in CONTRACT}
    assert keys == {
        "chat_sessions": [],
        "chat_messages": [("chat_sessions", "session_id", "id", "NO ACTION", "CASCADE")],
        "chat_parts": [("chat_messages", "message_id", "id", "NO ACTION", "CASCADE")],
    }


def test_there_is_no_trigger(db: Any) -> None:
    assert rows(db, "SELECT name FROM sqlite_schema WHERE type = 'trigger'") == []


def test_no_table_of_ours_has_a_key_into_the_contract(db: Any) -> None:
    tables = [row[0] for row in rows(db, "SELECT name FROM sqlite_schema WHERE type = 'table'")]
    ours = [table for table in tables if table not in CONTRACT]
    assert len(ours) > 5
    assert {table: rows(db, f'PRAGMA foreign_key_list("{table}")') for table in ours} == {table: [] for table in ours}


def test_no_index_of_the_contract_needs_a_function_or_collation_of_ours(db: Any) -> None:
    texts = [row[0] for row in rows(db, "SELECT sql FROM sqlite_schema WHERE tbl_name LIKE 'chat_%' AND sql NOT NULL")]
    assert len(texts) >= 3 + len(judge.INDEXES)
    assert [text for text in texts if "COLLATE" in text or "GENERATED" in text] == []
    conditions = [text.partition(" WHERE ")[2] for text in texts if " WHERE " in text]
    assert conditions == ["tool_state = 'output-error'"]  # a column and a text: any SQLite can keep it


def test_another_program_may_insert_update_and_delete_in_every_table(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    message = "INSERT INTO chat_messages VALUES ('msg_x', ?, 'user', '{}', 1760000000000, 1760000000000)"
    part = """INSERT INTO chat_parts VALUES ('prt_x', 'msg_x', ?, 0, 'text', '{"type":"text","text":"hi"}',
              NULL, NULL, 1760000000000, 1760000000000)"""
    *_, left = sql(
        store.path,
        (message, [session.id]),
        (part, [session.id]),
        """UPDATE chat_parts SET data_json = '{"type":"text","text":"ho"}'""",
        "UPDATE chat_sessions SET cost_usd = 1.5",
        "DELETE FROM chat_sessions",
        "SELECT (SELECT count(*) FROM chat_messages), (SELECT count(*) FROM chat_parts)",
    )
    assert left == [(0, 0)]


# ---------------------------------------------------------------- pragmas


def connections(store: palaver.Store) -> list[apsw.Connection]:
    """Every connection this process has to the file."""
    store.sessions.list()
    return [c for c in apsw.connections() if _leads_to(c, store.path)]


def _leads_to(connection: apsw.Connection, path: str) -> bool:
    try:
        return bool(connection.open_flags) and connection.filename == path
    except (apsw.ConnectionClosedError, apsw.ThreadingViolationError):  # another store's, at work or just gone
        return False


def test_every_connection_has_the_pragmas_of_the_contract(store: palaver.Store) -> None:
    say(store.sessions.create("coder"), "hello", "hi")
    found = connections(store)
    assert len(found) >= 2
    for connection in found:
        assert connection.pragma("journal_mode") == "wal"
        assert connection.pragma("foreign_keys") == 1
        if connection.pragma("query_only"):
            assert connection.pragma("busy_timeout") == 5000  # a writer's waiting is our own: to the caller's deadline


def test_chunks_are_committed_with_synchronous_normal_and_boundaries_with_full(store: palaver.Store) -> None:
    writer = next(c for c in connections(store) if not c.pragma("query_only"))
    turn = store.sessions.create("coder").turn("hello")
    assert writer.pragma("synchronous") == 2
    turn.write({"type": "text-start", "id": "t"})
    assert writer.pragma("synchronous") == 1


def test_reading_connections_cannot_write(store: palaver.Store) -> None:
    store.sessions.create("coder")
    assert sorted(c.pragma("query_only") for c in connections(store))[:2] == [0, 1]


def test_a_store_in_memory_keeps_foreign_keys_too() -> None:
    before = set(apsw.connections())
    with palaver.open(":memory:") as store:
        store.sessions.create("coder")
        (connection,) = set(apsw.connections()) - before
        assert connection.pragma("foreign_keys") == 1


def test_a_reopened_store_is_in_wal_mode_whatever_another_program_did(path: str) -> None:
    palaver.open(path).close()
    assert sql(path, "PRAGMA journal_mode = DELETE")[-1] == [("delete",)]
    with palaver.open(path) as store:
        assert {c.pragma("journal_mode") for c in connections(store)} == {"wal"}


# ---------------------------------------------------------------- plans


def plan(db: Any, query: str) -> str:
    names = {name: None for name in Query("plan", query).names}
    return " | ".join(row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}", names))


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT id FROM chat_sessions WHERE agent = :a ORDER BY updated_at DESC", "agent=?"),
        ("SELECT id FROM chat_sessions WHERE workspace_root = :w ORDER BY updated_at DESC", "workspace_root=?"),
        ("SELECT id FROM chat_sessions WHERE parent_id = :p", "parent_id=?"),
        ("SELECT id FROM chat_sessions WHERE archived_at IS NULL", "archived_at=?"),
        ("SELECT id FROM chat_messages WHERE session_id = :s ORDER BY created_at", "session_id=?"),
        ('SELECT id FROM chat_parts WHERE message_id = :m ORDER BY "index"', "message_id=?"),
        ("SELECT id FROM chat_parts WHERE session_id = :s", "session_id=?"),
        ("SELECT id FROM chat_parts WHERE tool_call_id = :c", "tool_call_id=?"),
    ],
)
def test_a_query_of_the_contract_uses_its_index_and_sorts_nothing(db: Any, query: str, columns: str) -> None:
    found = plan(db, query)
    assert found.startswith("SEARCH chat_")
    assert f"({columns}" in found
    assert "TEMP B-TREE" not in found


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (Q.list_recent, "chat_sessions_by_update (updated_at<?"),
        (Q.list_by_agent, "chat_sessions_by_agent (agent=? AND updated_at<?"),
        (Q.list_by_workspace, "chat_sessions_by_workspace (workspace_root=? AND updated_at<?"),
        (Q.list_by_parent, "chat_sessions_by_parent (parent_id=?"),
    ],
)
def test_a_list_uses_the_index_of_its_filter(db: Any, query: Query, index: str) -> None:
    assert f"USING INDEX {index}" in plan(db, query.text)


def lists() -> list[Query]:
    return [query for query in Q if query.name.startswith("list_")]


@pytest.mark.parametrize("query", lists(), ids=lambda query: query.name)
def test_a_list_touches_neither_messages_nor_parts(db: Any, query: Query) -> None:
    ours = {"heads", "turns", "session_rows", "foreign_ids", "session_facts"}
    inside = {"c", "w"}  # what a statement calls its own parts
    assert tables_read(db, query.text) <= {"chat_sessions"} | ours | inside


def tables_read(db: Any, query: str) -> set[str]:
    """Which tables a statement reads, as SQLite's own authorizer tells it."""
    seen: set[str] = set()

    def note(action: int, table: str | None, *_: Any) -> int:
        if action == apsw.SQLITE_READ and table:
            seen.add(table)
        return apsw.SQLITE_OK

    db.authorizer = note
    try:
        rows(db, f"EXPLAIN {query}", {name: None for name in Query("read", query).names})
    finally:
        db.authorizer = None
    return seen - {"sqlite_schema", "sqlite_master"}


# `adopt` looks at everything on purpose, and so does a search where nobody has looked yet; so does all of verify.sql.
EVERYWHERE = {"sessions_with_loose_rows", "loose_everywhere"}


def loading() -> list[Query]:
    folder = files("palaver.db") / "sql" / "queries"
    sources = [file.read_text() for file in folder.iterdir() if file.name not in ("verify.sql", "__pycache__")]
    queries = list(Queries(*sources))
    return [q for q in queries if q.text.startswith(("SELECT", "WITH")) and q.name not in EVERYWHERE]


@pytest.mark.parametrize("query", loading(), ids=lambda query: query.name)
def test_no_query_scans_a_table_of_the_contract(db: Any, query: Query) -> None:
    steps = plan(db, query.text).split(" | ")
    scanned = [step.split()[1] for step in steps if step.startswith("SCAN ") and "USING" not in step]
    assert [table for table in scanned if table in (*CONTRACT, "m", "p", "s")] == []


def test_loading_a_session_goes_by_the_required_indexes(db: Any) -> None:
    assert "chat_messages_by_session (session_id=?" in plan(db, Q.loose_messages.text)
    assert "chat_parts_by_message (message_id=?" in plan(db, Q.parts_of_message.text)
    path = plan(db, Q.path_rows.text)
    assert "chat_messages" not in path.replace("sqlite_autoindex_chat_messages_1 (id=?)", "")
    assert "SCAN m" not in path
    assert "SCAN p " not in path
