"""What is on disk, and what other programs may rely on (rows 139, 141, 143, 144, 145)."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver.db import migrate
from palaver.db.queries import Q

from ..tools.planting import broken_by
from ..tools.sql import execute, query
from .support_tree import Walk, answers

# ---------------------------------------------------------------- names are literal

SPECIAL = ["100%", "100x", "a_b", "axb", "a\\b", "a\\\\b", "%", "_", "\\", "", "' OR 1=1 --", "a*", "[a]", "naïve_%"]


def test_promise_139_an_alias_is_found_by_itself_alone(store: palaver.Store) -> None:
    named = {name: store.sessions.create("a") for name in SPECIAL if name}
    for name, session in named.items():
        session.alias(name)
    for name, session in named.items():
        assert store.sessions.find(name) == session
        assert store.sessions.find(name, "alias") == session
        assert session.aliases() == [("alias", name)]
    for name in ("1%", "a%", "__", "a_", "%%", "\\%", "100_", "A_B"):
        with pytest.raises(palaver.SessionNotFound):
            store.sessions.find(name)


@pytest.mark.parametrize("field", ["agent", "workspace"])
def test_promise_139_a_filter_matches_literally(store: palaver.Store, field: str) -> None:
    names = [name for name in SPECIAL if name]
    made = {name: store.sessions.create(**{"agent": "a", field: name}).id for name in names}
    for name in names:
        assert [info.id for info in store.sessions.list(**{field: name}).sessions] == [made[name]]
    for wild in ("%%", "a%", "___", "[ab]", "100_"):
        assert store.sessions.list(**{field: wild}).sessions == []


def test_promise_139_titles_come_back_as_they_were_given(store: palaver.Store) -> None:
    sessions = [store.sessions.create("a", title=title) for title in SPECIAL]
    assert [session.title for session in sessions] == SPECIAL
    sessions[0].title = "50%_\\"
    assert store.sessions.get(sessions[0].id).title == "50%_\\"


def test_promise_139_no_statement_uses_a_caller_s_text_as_a_pattern() -> None:
    patterns = [statement for statement in Q if re.search(r"\b(LIKE|GLOB|REGEXP)\b\s*[^\s']", statement.text)]
    assert [s.name for s in patterns if "ESCAPE" not in s.text] == []
    assert len(list(Q)) > 50


# ---------------------------------------------------------------- the schema is frozen

SCHEMAS: dict[int, dict[str, str]] = {
    1: {
        "chat_sessions": "id agent workspace_root model_json parent_id parent_message_id permissions_json "
        "metadata_json prompt_tokens completion_tokens reasoning_tokens cache_read cache_write total_tokens cost_usd "
        "created_at updated_at archived_at",
        "chat_messages": "id session_id role metadata_json created_at updated_at",
        "chat_parts": "id message_id session_id index type data_json tool_call_id tool_state created_at updated_at",
        "turns": "id parent_id session_id base_revision begin_seq kind status owner fence started_at sealed_at digest "
        "depth thread_tokens thread_messages response_id input_tokens output_tokens reasoning_tokens cache_read "
        "cache_write cost_usd usage_told facts_json",
        "turn_entries": "turn_id seq kind ref client_id salt leaf",
        "heads": "session_id turn_id prev_turn_id revision event_seq events_floor last_at looked_at relation origin_id "
        "origin_turn origin_call scope_json title preview deleted_at",
        "reflog": "session_id seq kind turn_id revision at ref_seq reason link",
        "events": "session_id seq kind turn data at",
        "copies": "copy_id session_id message_id",
        "aliases": "namespace name session_id turn_id created_at reason",
        "foreign_ids": "origin scope foreign_id id",
        "owners": "id pid host started_at",
        "system_prompts": "digest body created_at",
        "schema_migrations": "version name applied_at",
    },
}
SCHEMAS[2] = SCHEMAS[1] | {
    "turns": SCHEMAS[1]["turns"] + " live",
    "journal": "session_id seq statement data",
    "settings": "name value",
}
SCHEMAS[3] = SCHEMAS[2] | {
    "queue": "session_id id turn_id payload queued_at claims",
    "deliveries": "source delivery_id session_id turn_id payload at",
    "pruned": "part_id session_id at",
}
SCHEMAS[4] = SCHEMAS[3] | {"owners": SCHEMAS[3]["owners"] + " lease_until"}
SCHEMAS[5] = SCHEMAS[4] | {
    "turns": SCHEMAS[4]["turns"]
    + " jump thread_results thread_calls stray_seq model provider role persona workspace mode toolset prompt_digest"
    + " finish error_code source_event",
    "heads": SCHEMAS[4]["heads"] + " ended_at end_reason last_message_at",
    "session_facts": "name value created_at session_id",
    "usage": "session_id n turn_id message_id key source provider model input output reasoning cache_read cache_write"
    + " cost_reported cost_computed price at",
    "compactions": "turn_id summary summarized_through_turn_id first_kept_turn_id turns_summarized compaction_type"
    + " model provider tokens_before tokens_after summary_tokens summarization_input_tokens"
    + " summarization_output_tokens duration_ms trigger metadata_json",
    "bodies": "digest kind body created_at",
}
SCHEMAS[6] = SCHEMAS[5] | {"natives": "turn_id seq session_id origin item digest body codec file place"}
SCHEMAS[7] = SCHEMAS[6] | {
    "turns": SCHEMAS[6]["turns"] + " unindexed",
    "documents": "number message_id part_id role at newest titled checksum",
    "document_words": "words pieces",
    "document_words_data": "id block",
    "document_words_idx": "segid term pgno",
    "document_words_docsize": "id sz origin",
    "document_words_config": "k v",
}
SCHEMAS[8] = SCHEMAS[7] | {
    "row_numbers": "number ref stamp",
    "stepped_sessions": "session_id noted_at",
    "sqlite_sequence": "name seq",
}


def columns(path: str) -> dict[str, list[str]]:
    tables = [row[0] for row in query(path, "SELECT name FROM sqlite_schema WHERE type = 'table'")]
    return {table: [row[1] for row in query(path, f"PRAGMA table_info({table})")] for table in tables}


@broken_by("a_column_appears_without_a_version")
def test_promise_141_a_column_comes_only_with_a_new_version(store: palaver.Store) -> None:
    assert query(store.path, "SELECT max(version) FROM schema_migrations") == [(max(SCHEMAS),)] == [(migrate.VERSION,)]
    frozen = {table: names.split() for table, names in SCHEMAS[migrate.VERSION].items()}
    assert columns(store.path) == frozen


def test_promise_141_no_column_of_any_version_was_removed(store: palaver.Store) -> None:
    present = columns(store.path)
    for tables in SCHEMAS.values():
        for table, names in tables.items():
            assert set(names.split()) <= set(present[table])


# ---------------------------------------------------------------- a newer schema


def contents(folder: Path) -> dict[str, str]:
    return {file.name: sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir()) if file.is_file()}


@broken_by("newer_schemas_are_taken_for_ours")
def test_promise_143_a_newer_schema_is_refused_and_nothing_is_changed(path: str) -> None:
    with palaver.open(path) as store:
        store.sessions.create("a").commit("hello")
    execute(path, "INSERT INTO schema_migrations VALUES (?, 'the future', 1)", migrate.VERSION + 1)
    before = contents(Path(path).parent)
    for _ in range(2):
        with pytest.raises(palaver.SchemaTooNew) as refused:
            palaver.open(path)
        assert (refused.value.found, refused.value.known) == (migrate.VERSION + 1, migrate.VERSION)
    assert contents(Path(path).parent) == before


@broken_by("newer_schemas_are_taken_for_ours")
def test_promise_143_tables_that_only_the_future_knows_are_left_alone(path: str) -> None:
    palaver.open(path).close()
    execute(path, "CREATE TABLE dreams (id TEXT PRIMARY KEY, dream TEXT)")
    execute(path, "ALTER TABLE chat_messages ADD COLUMN mood TEXT")
    execute(path, "INSERT INTO schema_migrations VALUES (?, 'the future', 1)", migrate.VERSION + 1)
    before = columns(path)
    with pytest.raises(palaver.SchemaTooNew):
        palaver.open(path)
    assert columns(path) == before


FUTURE = "INSERT INTO schema_migrations VALUES (99, 'the future', 1)"
ALL = ("chat_sessions", "chat_messages", "chat_parts", "turns", "turn_entries", "heads", "reflog", "events")


def everything(path: str) -> list[Any]:
    return [query(path, f"SELECT * FROM {table} ORDER BY 1, 2") for table in ALL]


def test_promise_143_a_store_that_becomes_newer_while_it_is_open_takes_no_turn(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    turn = session.turn("open before")
    turn.write({"type": "start-step"})
    execute(store.path, FUTURE)
    before = everything(store.path)
    for verb in (lambda: session.turn("hello"), lambda: session.commit("hello"), turn.seal):
        with pytest.raises(palaver.SchemaTooNew):
            verb()
    assert everything(store.path) == before
    execute(store.path, "DELETE FROM schema_migrations WHERE version = 99")
    turn.seal()
    assert turn.status == "completed"


# ---------------------------------------------------------------- another implementation


def contract_reader(path: str, session_id: str) -> list[dict[str, Any]]:
    """A reader that knows the three tables and nothing else."""
    messages = query(
        path,
        "SELECT id, role, metadata_json FROM chat_messages WHERE session_id = ? "
        "AND metadata_json ->> 'hidden_at' IS NULL ORDER BY created_at",
        session_id,
    )
    return [rebuilt(path, row) for row in messages]


def rebuilt(path: str, row: tuple[Any, ...]) -> dict[str, Any]:
    parts = query(path, 'SELECT data_json FROM chat_parts WHERE message_id = ? ORDER BY "index"', row[0])
    metadata = {"metadata": json.loads(row[2])} if row[2] != "{}" else {}
    return {"id": row[0], "role": row[1], **metadata, "parts": [json.loads(part[0]) for part in parts]}


PATH_READER = """
    WITH RECURSIVE path (id, parent_id, depth) AS (
        SELECT t.id, t.parent_id, t.depth FROM turns t JOIN heads h ON h.turn_id = t.id WHERE h.session_id = ?
        UNION ALL SELECT t.id, t.parent_id, t.depth FROM turns t JOIN path ON t.id = path.parent_id)
    SELECT m.id, m.role, m.metadata_json, e.client_id FROM path
      JOIN turn_entries e ON e.turn_id = path.id AND e.kind = 'message' JOIN chat_messages m ON m.id = e.ref
     ORDER BY path.depth, e.seq
"""


def path_reader(path: str, session_id: str) -> list[dict[str, Any]]:
    """A reader that knows the tree, too."""
    found = [rebuilt(path, row) | {"id": row[3] or row[0]} for row in query(path, PATH_READER, session_id)]
    for message in found:
        message.get("metadata", {}).pop("hidden_at", None)
    return [{k: v for k, v in message.items() if v != {}} for message in found]


@broken_by("nothing_is_hidden")
def test_promise_144_three_tables_are_enough_to_read_a_session(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    for n in range(3):
        answers(session.turn(f"question {n}", model="acme/m1"), f"answer {n}", tokens=n)
    session.rewind(to=session.messages()[3]["id"])
    answers(session.regenerate(), "another answer")
    answers(session.turn("and then?"), "then that")
    shown = session.messages()
    assert contract_reader(store.path, session.id) == shown
    assert [part["text"] for message in shown for part in message["parts"] if "text" in part] == [
        *("question 0", "answer 0", "question 1", "another answer", "and then?", "then that"),
    ]


@pytest.mark.parametrize("steps", [40, pytest.param(500, marks=pytest.mark.long)])
def test_promise_144_plain_sql_rebuilds_every_session(store: palaver.Store, steps: int) -> None:
    walk = Walk(store)
    walk.run(steps, lambda: None)
    for session_id in walk.live():
        assert path_reader(store.path, session_id) == store.sessions.get(session_id).messages()


def test_promise_144_we_read_what_another_implementation_writes(store: palaver.Store) -> None:
    names = "id, agent, model_json, created_at, updated_at"
    execute(store.path, f"INSERT INTO chat_sessions ({names}) VALUES ('theirs', 'other', '{{}}', 1, 1)")
    for n, role in enumerate(("user", "assistant")):
        given = (f"m{n}", "theirs", role, '{"k": [1]}' if n else "{}", 10 + n, 10 + n)
        execute(store.path, "INSERT INTO chat_messages VALUES (?, ?, ?, ?, ?, ?)", *given)
        part = (
            f"p{n}",
            f"m{n}",
            "theirs",
            0,
            "text",
            json.dumps({"type": "text", "text": f"said {n}"}),
            None,
            None,
            1,
            1,
        )
        execute(store.path, "INSERT INTO chat_parts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *part)
    assert store.sessions.get("theirs").messages() == contract_reader(store.path, "theirs")
    store.sessions.get("theirs").adopt()
    assert store.sessions.get("theirs").messages() == contract_reader(store.path, "theirs")


# ---------------------------------------------------------------- spelling

CHUNKS: list[dict[str, Any]] = [
    {"type": "file", "mediaType": "text/plain", "url": "https://a.example"},
    {"type": "source-url", "sourceId": "s", "url": "https://a.example", "providerMetadata": {"acme": {"cacheKey": 1}}},
    {"type": "tool-input-available", "toolCallId": "c", "toolName": "run", "input": {"snake_case": 1, "camelCase": 2}},
    {"type": "tool-output-error", "toolCallId": "c", "errorText": "no"},
]
KNOWN = {"type", "url", "input", "state"}


def test_promise_145_columns_are_snake_case_and_parts_keep_the_sdk_s_camel_case(store: palaver.Store) -> None:
    with store.sessions.create("a").turn("hello", system_prompt="Be kind.") as turn:
        turn.append(CHUNKS)
        turn.usage(input=1, cache_read=2)
    names = {name for tables in columns(store.path).values() for name in tables}
    assert [name for name in names if not re.fullmatch(r"[a-z]+(_[a-z]+)*", name)] == []
    rows = query(store.path, 'SELECT data_json FROM chat_parts WHERE message_id = ? ORDER BY "index"', turn.message_id)
    keys = [set(json.loads(row[0])) - KNOWN for row in rows]
    assert keys == [{"mediaType"}, {"sourceId", "providerMetadata"}, {"toolCallId", "errorText"}]
    assert json.loads(rows[2][0])["input"] == {"snake_case": 1, "camelCase": 2}
    owned = query(store.path, "SELECT metadata_json FROM chat_messages WHERE id = ?", turn.message_id)
    assert set(json.loads(owned[0][0])) == {"usage", "system_prompt_digest"}
    assert set(json.loads(owned[0][0])["usage"]) == {"input", "output", "reasoning", "cache_read", "cache_write"}


def test_promise_145_a_session_goes_over_the_wire_and_comes_back_the_same(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    with session.turn("hello") as turn:
        turn.append(CHUNKS)
    sent = session.messages_json()
    with palaver.open(":memory:") as other:
        copy = other.sessions.create("a")
        copy.commit(json.loads(sent))
        assert copy.messages_json() == sent
