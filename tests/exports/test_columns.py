"""The columns of a line are part of the format: another schema is not yet another export.

Kinds: text, int, count, real, json, object, salt, hash, bytes, null; with `?` it may be null.
"""

from __future__ import annotations

import pytest

from palaver.exports import tables

FORMAT = {
    "chat_sessions": """
        id text, agent text, workspace_root text?, model_json json, parent_id text?, parent_message_id text?,
        permissions_json json, metadata_json object, prompt_tokens int, completion_tokens int, reasoning_tokens int,
        cache_read int, cache_write int, total_tokens int, cost_usd real, created_at int, updated_at int,
        archived_at int?""",
    "heads": """
        session_id text, turn_id text?, prev_turn_id text?, revision count, event_seq count, events_floor count,
        last_at count, looked_at count, relation text, origin_id text?, origin_turn text?, origin_call text?,
        scope_json json, title text?, preview text?, deleted_at count?, ended_at count?, end_reason text?,
        last_message_at count?""",
    "reflog": """
        session_id text, seq count, kind text, turn_id text?, revision count, at int, ref_seq count?, reason text?,
        link hash""",
    "turns": """
        id text, parent_id text?, session_id text, base_revision int, begin_seq count, kind text, status text,
        owner null, fence count, started_at int, sealed_at int?, digest hash?, depth count, thread_tokens count,
        thread_messages count, response_id text?, input_tokens count, output_tokens count, reasoning_tokens count,
        cache_read count, cache_write count, cost_usd real, usage_told count, facts_json object""",
    "turn_entries": "turn_id text, seq count, kind text, ref text, client_id text?, salt salt?, leaf hash?",
    "chat_messages": "id text, session_id text, role text, metadata_json object, created_at int, updated_at int",
    "chat_parts": """
        id text, message_id text, session_id text, index int, type text, data_json object, tool_call_id text?,
        tool_state text?, created_at int, updated_at int""",
    "events": "session_id text, seq count, kind text, turn count?, data json, at int",
    "copies": "copy_id text, session_id text, message_id text",
    "aliases": "namespace text, name text, session_id text, turn_id text?, created_at int, reason text?",
    "foreign_ids": "origin text, scope text, foreign_id text, id text",
    "queue": "session_id text, id text, turn_id text, payload hash, queued_at int, claims count",
    "deliveries": "source text, delivery_id text, session_id text, turn_id text, payload hash, at int",
    "pruned": "part_id text, session_id text, at int",
    "session_facts": "name text, value text, created_at int, session_id text",
    "usage": """
        session_id text, n count, turn_id text?, message_id text?, key text?, source text, provider text?, model text?,
        input count, output count, reasoning count, cache_read count, cache_write count, cost_reported real?,
        cost_computed real?, price text?, at int""",
    "natives": """
        turn_id text, seq count, session_id text, origin text, item text, digest hash, body bytes?, file text?,
        place int?""",
    "system_prompts": "digest text, body text, created_at int",
    "bodies": "digest text, kind text, body json, created_at int",
}
SINCE_2 = {"session_facts", "usage", "bodies", "heads.ended_at", "heads.end_reason", "heads.last_message_at"}


def test_an_export_has_these_tables_in_this_order() -> None:
    assert [table.name for table in tables.IN_ORDER] == list(FORMAT)


@pytest.mark.parametrize("name", FORMAT)
def test_a_table_of_an_export_has_these_columns(name: str) -> None:
    columns = [f"{one.name} {one.kind}{'?' * one.null}" for one in tables.BY_NAME[name].columns]
    assert columns == [" ".join(column.split()) for column in FORMAT[name].split(",")]


def lacking(version: int) -> set[str]:
    """Tables, and columns of the tables that there are."""
    later = {table.name for table in tables.IN_ORDER if table.since > version}
    for table in tables.IN_ORDER:
        if table.name not in later:
            later |= {f"{table.name}.{name}" for name in table.names if name not in table.names_in(version)}
    return later


def test_a_version_has_all_but_what_came_after_it() -> None:
    assert lacking(1) == SINCE_2 | {"natives"}
    assert lacking(2) == {"natives"}
    assert lacking(3) == set()
