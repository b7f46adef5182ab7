"""Rows 15, 16, 17 and 20 of the promise ledger: roles, and what a part's columns say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import palaver

from ..fold.sdk import Oracle
from ..tools.planting import broken_by
from ..tools.sql import column, query
from .support_schema import live

STATES = {
    "input-streaming": {"input": {"a": 1}},
    "input-available": {"input": {"a": 1}},
    "approval-requested": {"input": {}, "approval": {"id": "ap"}},
    "approval-responded": {"input": {}, "approval": {"id": "ap", "approved": True, "reason": "fine"}},
    "output-available": {"input": {}, "output": {"b": [2]}},
    "output-error": {"input": {}, "errorText": "no"},
    "output-denied": {"input": {}, "approval": {"id": "ap", "approved": False}},
}
PARTS: list[dict[str, Any]] = [
    {"type": "text", "text": "Hello", "state": "done", "providerMetadata": {"p": {"k": 1}}},
    {"type": "reasoning", "text": "Hm.", "state": "done"},
    {"type": "step-start"},
    {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AA==", "filename": "a.png"},
    {"type": "source-url", "sourceId": "s1", "url": "https://example.org/", "title": "A page"},
    {"type": "source-document", "sourceId": "s2", "mediaType": "text/plain", "title": "A text", "filename": "t.txt"},
    {"type": "data-weather", "id": "w", "data": {"sun": True, "wind": [1, 2.5]}},
    *({"type": "tool-run-it", "toolCallId": f"s-{s}", "state": s, **more} for s, more in STATES.items()),
    *({"type": "dynamic-tool", "toolName": "x", "toolCallId": f"d-{s}", "state": s, **m} for s, m in STATES.items()),
]


@pytest.fixture(scope="module")
def sdk() -> Iterator[Oracle]:
    oracle = Oracle()
    yield oracle
    oracle.close()


# ---------------------------------------------------------------- 15: roles


@pytest.mark.parametrize("role", ["tool", "developer", "User", "", None, 5, "assistant "])
def test_promise_015_a_role_that_is_not_one_of_three_is_refused(store: palaver.Store, role: Any) -> None:
    session = store.sessions.create("a")
    message = {"role": role, "parts": [{"type": "text", "text": "x"}]}
    for given in (message, json.dumps(message).encode()):
        with pytest.raises(palaver.BadValue, match="role is user, assistant or system"):
            session.commit([given])
        with pytest.raises(palaver.BadValue):
            session.turn([given])
    assert query(store.path, "SELECT count(*) FROM chat_messages") == [(0,)]


def test_promise_015_the_three_roles_are_stored_as_given(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    session.commit([{"role": role, "content": role} for role in ("system", "user", "assistant")])
    assert column(store.path, "SELECT role FROM chat_messages ORDER BY created_at") == [
        "system",
        "user",
        "assistant",
    ]
    live(store)
    assert set(column(store.path, "SELECT DISTINCT role FROM chat_messages")) == {"system", "user", "assistant"}


# ---------------------------------------------------------------- 16: index


@broken_by("part_indexes_repeat")
def test_promise_016_parts_are_numbered_from_0_without_gap_or_repeat(store: palaver.Store) -> None:
    live(store)
    assert (
        column(
            store.path,
            'SELECT message_id FROM chat_parts GROUP BY message_id HAVING min("index") <> 0'
            ' OR max("index") <> count(*) - 1 OR count(DISTINCT "index") <> count(*)',
        )
        == []
    )
    assert query(store.path, "SELECT max(n) > 3 FROM (SELECT count(*) n FROM chat_parts GROUP BY message_id)") == [(1,)]


@broken_by("part_indexes_repeat")
def test_promise_016_the_index_grows_by_one_with_every_part_that_streams(store: palaver.Store) -> None:
    with store.sessions.create("a").turn("q") as turn:
        for place in range(30):
            turn.write({"type": "data-tick", "id": str(place), "data": place})
            places = column(
                store.path, 'SELECT "index" FROM chat_parts WHERE message_id = ? ORDER BY rowid', turn.message_id
            )
            assert places == list(range(place + 1))


# ---------------------------------------------------------------- 17: types


def test_promise_017_every_part_type_passes_the_sdks_own_validator(store: palaver.Store, sdk: Oracle) -> None:
    session = store.sessions.create("a")
    session.commit([{"id": "u", "content": "q"}, {"id": "m", "role": "assistant", "parts": PARTS}])
    read = session.messages()
    assert read[1]["parts"] == PARTS
    answer = sdk.ask("validate", {"messages": read, "ignoreIncompleteToolCalls": True})
    assert answer.get("stage") != "validate", answer
    stored = query(store.path, 'SELECT type, data_json FROM chat_parts WHERE message_id <> ? ORDER BY "index"', "u")
    assert [(kind, json.loads(data)) for kind, data in stored[1:]] == [(part["type"], part) for part in PARTS]


def test_promise_017_the_validator_would_say_so(sdk: Oracle) -> None:
    broken = {"type": "tool-run", "toolCallId": "c", "state": "running"}
    answer = sdk.ask("validate", [{"id": "m", "role": "assistant", "parts": [broken]}])
    assert (answer["ok"], answer["stage"]) == (False, "validate")


def test_promise_017_what_streams_in_has_the_sdks_types(store: palaver.Store, sdk: Oracle) -> None:
    session = store.sessions.create("a")
    with session.turn("q") as turn:
        turn.append(_one_of_each())
    answer = sdk.ask("validate", {"messages": session.messages(), "ignoreIncompleteToolCalls": True})
    assert answer.get("stage") != "validate", answer
    types = column(store.path, 'SELECT type FROM chat_parts WHERE message_id = ? ORDER BY "index"', turn.message_id)
    assert types == [
        *("step-start", "text", "reasoning", "file", "source-url", "source-document", "data-x"),
        *("tool-run", "dynamic-tool"),
    ]


def _one_of_each() -> list[dict[str, Any]]:
    return [
        {"type": "start", "messageId": "m"},
        {"type": "start-step"},
        {"type": "text-start", "id": "t"},
        {"type": "text-delta", "id": "t", "delta": "Hi"},
        {"type": "text-end", "id": "t"},
        {"type": "reasoning-start", "id": "r"},
        {"type": "reasoning-delta", "id": "r", "delta": "Hm"},
        {"type": "reasoning-end", "id": "r"},
        {"type": "file", "mediaType": "text/plain", "url": "data:text/plain,x"},
        {"type": "source-url", "sourceId": "1", "url": "https://example.org/"},
        {"type": "source-document", "sourceId": "2", "mediaType": "text/plain", "title": "t"},
        {"type": "data-x", "data": {"a": 1}},
        {"type": "tool-input-available", "toolCallId": "c", "toolName": "run", "input": {}},
        {"type": "tool-output-available", "toolCallId": "c", "output": 1},
        {"type": "tool-input-start", "toolCallId": "d", "toolName": "look", "dynamic": True},
        {"type": "tool-input-available", "toolCallId": "d", "toolName": "look", "input": {}, "dynamic": True},
        {"type": "tool-output-error", "toolCallId": "d", "errorText": "no", "dynamic": True},
        {"type": "finish-step"},
        {"type": "finish"},
    ]


# ---------------------------------------------------------------- 20: tool states


@broken_by("a_tool_state_stays_what_it_was")
def test_promise_020_tool_state_follows_the_stream_through_all_seven_states(store: palaver.Store) -> None:
    turn = store.sessions.create("a").turn("q")
    ask_first = {"type": "tool-approval-request", "approvalId": "ap"}
    script: list[tuple[str, dict[str, Any], str]] = [
        ("a", {"type": "tool-input-start", "toolName": "run"}, "input-streaming"),
        ("a", {"type": "tool-input-available", "toolName": "run", "input": {}}, "input-available"),
        ("a", ask_first, "approval-requested"),
        ("a", {"approved": True}, "approval-responded"),
        ("a", {"type": "tool-output-available", "output": 1}, "output-available"),
        ("b", {"type": "tool-input-available", "toolName": "run", "input": {}}, "input-available"),
        ("b", {"type": "tool-output-error", "errorText": "no"}, "output-error"),
        ("c", {"type": "tool-input-available", "toolName": "run", "input": {}}, "input-available"),
        ("c", ask_first, "approval-requested"),
        ("c", {"approved": False}, "approval-responded"),
        ("c", {"type": "tool-output-denied"}, "output-denied"),
    ]
    for call_id, step, wanted in script:
        if "type" in step:
            turn.write({**step, "toolCallId": call_id})
        else:
            turn.resolve(call_id, **step)
        found = query(
            store.path, "SELECT tool_state, data_json ->> 'state' FROM chat_parts WHERE tool_call_id = ?", call_id
        )
        assert found == [(wanted, wanted)]
    turn.seal()


@pytest.mark.parametrize("state", ["running", "pending", "error", "", None, 7])
def test_promise_020_a_tool_part_in_any_other_state_is_refused(store: palaver.Store, state: Any) -> None:
    session = store.sessions.create("a")
    for kind in ({"type": "tool-run"}, {"type": "dynamic-tool", "toolName": "run"}):
        part = {**kind, "toolCallId": "c", "state": state, "input": {}}
        with pytest.raises(palaver.BadValue):
            session.commit([{"role": "assistant", "parts": [part]}])
    assert query(store.path, "SELECT count(*) FROM chat_parts") == [(0,)]


def test_promise_020_no_other_word_is_in_the_column_after_every_verb(store: palaver.Store) -> None:
    live(store)
    words = set(column(store.path, "SELECT DISTINCT tool_state FROM chat_parts WHERE tool_state IS NOT NULL"))
    assert words <= set(STATES) and words
    assert query(store.path, "SELECT id FROM chat_parts WHERE tool_state <> (data_json ->> 'state')") == []
