"""`get_messages_as_conversation`: what goes back to a model, with the keys that are set and no others."""

from __future__ import annotations

from typing import Any

import pytest

from .support import Clock, call


def told(db: Any, session_id: str = "s") -> list[dict[str, Any]]:
    """The conversation; later versions put a time to each message."""
    conversation = db.get_messages_as_conversation(session_id)
    assert type(conversation) is list
    return [{key: value for key, value in message.items() if key != "timestamp"} for message in conversation]


def test_a_plain_talk(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "user", "Hello")
    db.append_message("s", "assistant", "Hi there!")
    assert told(db) == [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi there!"}]


def test_a_call_and_its_result(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "user", "go")
    db.append_message("s", "assistant", None, tool_calls=[call("c1", "ls")], finish_reason="tool_calls")
    db.append_message("s", "tool", "a.txt", tool_name="ls", tool_call_id="c1")
    assert told(db) == [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [call("c1", "ls")],
            "finish_reason": "tool_calls",
        },
        {"role": "tool", "content": "a.txt", "tool_call_id": "c1", "tool_name": "ls"},
    ]


def test_what_an_assistant_thought(db: Any) -> None:
    db.create_session("s", "cli")
    given = {
        "finish_reason": "stop",
        "reasoning": "Let me see.",
        "reasoning_details": [{"type": "reasoning.summary", "summary": "s"}],
        "codex_reasoning_items": [{"id": "rs_1"}],
    }
    db.append_message("s", "assistant", "yes", token_count=9, **given)
    assert told(db) == [{"role": "assistant", "content": "yes", **given}]


def test_only_an_assistant_thinks(db: Any) -> None:
    db.create_session("s", "cli")
    for role in ("user", "system", "tool"):
        db.append_message("s", role, "x", finish_reason="stop", reasoning="hm", reasoning_details=[{"a": 1}])
    assert told(db) == [{"role": role, "content": "x"} for role in ("user", "system", "tool")]


def test_what_is_empty_is_left_out(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "assistant", "x", tool_name="", tool_call_id="", finish_reason="", reasoning="")
    assert told(db) == [{"role": "assistant", "content": "x"}]


def test_it_has_neither_numbers_nor_counts_of_tokens(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "user", "x", token_count=4)
    assert set(db.get_messages_as_conversation("s")[0]) <= {"role", "content", "timestamp"}


@pytest.mark.schema6("0.19.0 adds `timestamp`")
def test_it_has_no_times(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "user", "x")
    assert "timestamp" not in db.get_messages_as_conversation("s")[0]


def test_names_and_ids_of_other_roles_are_kept(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "function", "x", tool_name="f", tool_call_id="c1")
    assert told(db) == [{"role": "function", "content": "x", "tool_name": "f", "tool_call_id": "c1"}]


def test_it_is_in_the_order_of_the_rows(db: Any, clock: Clock) -> None:
    db.create_session("s", "cli")
    for number in range(6):
        clock.turn(seconds=1)
        db.append_message("s", ["user", "assistant", "session_meta"][number % 3], str(number))
    assert [message["content"] for message in told(db)] == [str(number) for number in range(6)]


def test_a_call_that_was_never_answered_is_given_as_it_is(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "assistant", "look", tool_calls=[call("c1")])
    assert [message["role"] for message in told(db)] == ["assistant"]
    db.append_message("s", "user", "never mind")
    assert [message["role"] for message in told(db)] == ["assistant", "user"]
    assert told(db)[0]["tool_calls"] == [call("c1")]


def test_each_session_has_its_own(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "user", "of the parent")
    db.create_session("t", "cli", parent_session_id="s")
    db.append_message("t", "user", "of the child")
    assert told(db, "t") == [{"role": "user", "content": "of the child"}]
