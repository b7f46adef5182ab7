"""Rows 7 to 14 of the promise ledger: JSON columns, times, cost and indexes, judged by plain SQL on real files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

import palaver
from palaver.db.queries import Q

from ..tools.planting import broken_by
from ..tools.puppet import elsewhere
from ..tools.sql import column, query, reading, writing
from .support_schema import (
    TABLES,
    call,
    freeze_clock,
    indexes_of,
    live,
    no_rows,
    plan,
    talk,
    waiting_turn,
    words,
)

JSON_COLUMNS = (
    ("chat_sessions", "model_json", "object"),
    ("chat_sessions", "permissions_json", "array"),
    ("chat_sessions", "metadata_json", "object"),
    ("chat_messages", "metadata_json", "object"),
    ("chat_parts", "data_json", "object"),
    ("turns", "facts_json", "object"),
    ("events", "data", "object"),
    ("heads", "scope_json", "object"),
)
YEAR_2020, YEAR_2527 = 1_577_836_800_000, 17_592_186_044_416
HOUR = 3_600_000


# ---------------------------------------------------------------- 7, 8, 9: JSON columns


def test_promise_007_permissions_json_is_an_empty_list_and_never_null(lived: str) -> None:
    assert column(lived, "SELECT DISTINCT permissions_json FROM chat_sessions") == ["[]"]
    with writing(lived, foreign_keys=True) as db, pytest.raises(apsw.ConstraintError, match="NOT NULL"):
        db.execute("UPDATE chat_sessions SET permissions_json = NULL")


def test_promise_008_metadata_json_is_an_empty_object_and_never_null(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    session.commit([{"content": "q"}, {"role": "assistant", "content": "a"}])
    with session.turn("q") as turn:
        words(turn)
    for table, rows in (("chat_sessions", 1), ("chat_messages", 4)):
        assert column(store.path, f"SELECT metadata_json FROM {table}") == ["{}"] * rows
        with writing(store.path, foreign_keys=True) as db, pytest.raises(apsw.ConstraintError, match="NOT NULL"):
            db.execute(f"UPDATE {table} SET metadata_json = NULL")


def test_promise_008_metadata_json_is_an_object_after_every_verb(lived: str) -> None:
    for table in ("chat_sessions", "chat_messages"):
        no_rows(lived, f"SELECT id FROM {table} WHERE metadata_json IS NULL OR json_type(metadata_json) <> 'object'")


def test_promise_009_all_json_columns_hold_valid_json_after_every_verb(lived: str) -> None:
    for table, name, kind in JSON_COLUMNS:
        no_rows(lived, f"SELECT {name} FROM {table} WHERE json_valid({name}) = 0 OR json_type({name}) <> '{kind}'")
        assert query(lived, f"SELECT count(*) FROM {table}")[0][0] > 5


def test_promise_009_values_at_the_edge_are_valid_json_or_refused(store: palaver.Store) -> None:
    session = store.sessions.create("a", metadata={"big": 10**30, "nul": "\0", "half": "\ud800"})
    turn = waiting_turn(session, "c")
    for depth in (1_001, 1_000):
        with pytest.raises(palaver.BadValue):
            turn.resolve("c", output=nested(depth))
    turn.resolve("c", output=nested(999))
    turn.seal()
    with session.turn("approve") as turn:
        call(turn, "d")
        for depth in (999, 998):
            _request_approval(turn, depth)
    assert store.verify() == []
    for table, name, _ in JSON_COLUMNS:
        no_rows(store.path, f"SELECT {name} FROM {table} WHERE json_valid({name}) = 0")


def nested(depth: int) -> Any:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def _request_approval(turn: palaver.Turn, depth: int) -> None:
    """Depth counts the descriptor alone; in the part it stands two levels down."""
    descriptor = msgspec.Raw(b"[" * depth + b"]" * depth)
    chunk = {"type": "tool-approval-request", "toolCallId": "d", "approvalId": "x", "approvalDescriptor": descriptor}
    try:
        turn.write(msgspec.json.encode(chunk))
    except palaver.BadValue:
        assert depth > 998


# ---------------------------------------------------------------- 10, 11: times, cost


@broken_by("updated_at_follows_the_clock_back")
def test_promise_010_times_are_whole_milliseconds_and_updates_follow_creation(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_800_000_000_000
    clock = freeze_clock(monkeypatch, now)
    with palaver.open(path) as store:
        session = live(store)
        clock.ms = now - HOUR
        session.archive()
        session.unarchive()
        talk(session, "an hour earlier")
        _times_are_right(path)
        clock.ms = now + 1
        talk(session, "and later")
    _times_are_right(path)
    assert query(path, "SELECT updated_at FROM chat_sessions WHERE id = ?", session.id) == [(now + 1,)]


def _times_are_right(path: str) -> None:
    for table in TABLES:
        no_rows(path, f"SELECT id FROM {table} WHERE typeof(created_at) || typeof(updated_at) <> 'integerinteger'")
        no_rows(path, f"SELECT id FROM {table} WHERE updated_at < created_at")
        no_rows(path, f"SELECT id FROM {table} WHERE created_at NOT BETWEEN {YEAR_2020} AND {YEAR_2527}")


def test_promise_011_the_store_never_computes_a_cost(store: palaver.Store) -> None:
    session = store.sessions.create("a", model="openai/gpt-5")
    with session.turn("q", model="openai/gpt-5") as turn:
        words(turn)
        turn.usage(input=1_000_000, output=1_000_000)
    assert query(store.path, "SELECT cost_usd, total_tokens FROM chat_sessions") == [(0.0, 2_000_000)]
    with session.turn("q") as turn:
        turn.usage(output=1, cost_usd=0.25)
    session.commit([{"content": "q"}, {"role": "assistant", "content": "a", "metadata": {"usage": {"input": 9}}}])
    assert query(store.path, "SELECT cost_usd FROM chat_sessions") == [(0.25,)]


# ---------------------------------------------------------------- 12, 13, 14: indexes


def test_promise_012_the_required_session_indexes_exist(lived: str) -> None:
    wanted = {("agent", "updated_at"), ("workspace_root", "updated_at"), ("parent_id",), ("archived_at",)}
    assert wanted <= set(indexes_of(lived, "chat_sessions"))


@pytest.mark.parametrize(
    ("where", "index"),
    [
        ("agent = 'a' ORDER BY updated_at DESC", "chat_sessions_by_agent (agent=?)"),
        ("workspace_root = '/' ORDER BY updated_at DESC", "chat_sessions_by_workspace (workspace_root=?)"),
        ("parent_id = 'p'", "chat_sessions_by_parent (parent_id=?)"),
        ("archived_at IS NULL", "chat_sessions_by_archived (archived_at=?)"),
        ("archived_at > 5", "chat_sessions_by_archived (archived_at>?)"),
    ],
)
def test_promise_012_the_listings_of_the_contract_use_them(lived: str, where: str, index: str) -> None:
    with reading(lived) as db:
        steps = plan(db, f"SELECT id, agent FROM chat_sessions WHERE {where}")
    assert steps == [f"SEARCH chat_sessions USING INDEX {index}"]


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("list_by_agent", "chat_sessions_by_agent (agent=? AND updated_at<?)"),
        ("list_by_workspace", "chat_sessions_by_workspace (workspace_root=? AND updated_at<?)"),
        ("list_recent", "chat_sessions_by_update (updated_at<?)"),
    ],
)
def test_promise_012_our_own_lists_use_them(lived: str, name: str, index: str) -> None:
    query = getattr(Q, name)
    with reading(lived) as db:
        assert plan(db, query.text, query.names)[0] == f"SEARCH s USING INDEX {index}"


@pytest.mark.parametrize("name", ["list_by_parent", "list_by_parent_created", "offspring_of"])
def test_promise_012_what_came_from_a_session_is_found_by_two_indexes(lived: str, name: str) -> None:
    query = getattr(Q, name)
    with reading(lived) as db:
        steps = plan(db, query.text, query.names)
    assert "SEARCH h USING COVERING INDEX heads_by_origin (origin_id=?)" in steps  # ours
    assert "SEARCH k USING INDEX chat_sessions_by_parent (parent_id=?)" in steps  # of other programs
    assert not [step for step in steps if step.startswith(("SCAN s", "SCAN h", "SCAN k", "SCAN chat", "SCAN heads"))]


def test_promise_013_the_required_message_index_exists_and_gives_the_order(lived: str) -> None:
    assert ("session_id", "created_at") in indexes_of(lived, "chat_messages")
    with reading(lived) as db:
        steps = plan(db, "SELECT id FROM chat_messages WHERE session_id = 's' ORDER BY created_at")
    assert steps == ["SEARCH chat_messages USING INDEX chat_messages_by_session (session_id=?)"]


def test_promise_014_the_required_part_indexes_exist_and_are_used(lived: str) -> None:
    wanted = {("message_id", "index"), ("session_id",), ("tool_call_id",)}
    assert wanted <= set(indexes_of(lived, "chat_parts"))
    used = {
        "message_id = 'm' ORDER BY \"index\"": "chat_parts_by_message (message_id=?)",
        "session_id = 's'": "chat_parts_by_session (session_id=?)",
        "tool_call_id = 'c'": "chat_parts_by_tool_call (tool_call_id=?)",
    }
    with reading(lived) as db:
        for where, index in used.items():
            steps = plan(db, f"SELECT data_json FROM chat_parts WHERE {where}")
            assert steps == [f"SEARCH chat_parts USING INDEX {index}"]


def test_promise_014_a_file_that_lacks_indexes_gets_them(tmp_path: Path) -> None:
    path = str(tmp_path / "theirs.db")
    elsewhere(_THEIR_FILE, path)
    palaver.open(path).close()
    assert ("session_id", "created_at") in indexes_of(path, "chat_messages")
    assert {("message_id", "index"), ("session_id",), ("tool_call_id",)} <= set(indexes_of(path, "chat_parts"))


_THEIR_FILE = """
import sqlite3
db = sqlite3.connect(sys.argv[1])
db.executescript('''
CREATE TABLE chat_sessions (id TEXT PRIMARY KEY, agent TEXT NOT NULL, model_json TEXT NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, archived_at INTEGER);
CREATE TABLE chat_messages (id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES chat_sessions (id) ON DELETE CASCADE,
    role TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
CREATE TABLE chat_parts (id TEXT PRIMARY KEY,
    message_id TEXT NOT NULL REFERENCES chat_messages (id) ON DELETE CASCADE,
    session_id TEXT NOT NULL, "index" INTEGER NOT NULL, type TEXT NOT NULL, data_json TEXT NOT NULL,
    tool_call_id TEXT, tool_state TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
''')
db.close()
"""
