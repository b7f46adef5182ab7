"""Messages of `SessionDB`: every row comes back as it was appended, in its place, with a number and its counts."""

from __future__ import annotations

import json
import random
import sqlite3
import time
from typing import Any

import pytest

from .support import MESSAGE_COLUMNS, Clock, call, contents, counts, roles

# ---------------------------------------------------------------- one row


def test_appending_gives_back_a_whole_number(db: Any) -> None:
    db.create_session("s", "cli")
    id = db.append_message("s", "user", "hello")
    assert type(id) is int
    assert id > 0
    assert [row["id"] for row in db.get_messages("s")] == [id]


def test_a_row_has_every_column_of_messages(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "user", "hello")
    (row,) = db.get_messages("s")
    assert type(row) is dict
    assert set(MESSAGE_COLUMNS) <= set(row)


@pytest.mark.schema6("later versions have more columns, some in between")
@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
def test_a_row_has_exactly_the_columns_of_messages_of_schema_6(db: Any, role: str) -> None:
    db.create_session("s", "cli")
    db.append_message("s", role, "hello", tool_calls=[call()] if role == "assistant" else None)
    assert list(db.get_messages("s")[0]) == MESSAGE_COLUMNS


def test_a_row_comes_back_as_it_was_appended(db: Any) -> None:
    db.create_session("sess_abc123", "cli")
    calls = [{"id": "call_1", "function": {"name": "terminal", "arguments": "{}"}}]
    id = db.append_message(
        session_id="sess_abc123",
        role="assistant",
        content="Here's the answer...",
        tool_calls=calls,
        token_count=150,
        finish_reason="stop",
        reasoning="Let me think about this...",
    )
    (row,) = db.get_messages("sess_abc123")
    assert {name: row[name] for name in MESSAGE_COLUMNS if name != "timestamp"} == {
        "id": id,
        "session_id": "sess_abc123",
        "role": "assistant",
        "content": "Here's the answer...",
        "tool_call_id": None,
        "tool_calls": calls,
        "tool_name": None,
        "token_count": 150,
        "finish_reason": "stop",
        "reasoning": "Let me think about this...",
        "reasoning_details": None,
        "codex_reasoning_items": None,
    }


def test_what_was_not_said_of_a_row_is_null(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "user")
    (row,) = db.get_messages("s")
    unsaid = set(MESSAGE_COLUMNS) - {"id", "session_id", "role", "timestamp"}
    assert {name: row[name] for name in unsaid} == dict.fromkeys(unsaid)


def test_the_time_of_a_row_is_in_seconds(db: Any) -> None:
    db.create_session("s", "cli")
    before = time.time()
    db.append_message("s", "user", "hello")
    (row,) = db.get_messages("s")
    assert type(row["timestamp"]) is float
    assert before - 0.001 <= row["timestamp"] <= time.time() + 0.001


def test_the_time_of_a_row_stays(db: Any, clock: Clock) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "user", "one")
    first = db.get_messages("s")[0]["timestamp"]
    clock.turn(seconds=60)
    db.append_message("s", "assistant", "two", tool_calls=[call()])
    clock.turn(seconds=60)
    db.append_message("s", "tool", "three", tool_call_id="call_1")
    times = [row["timestamp"] for row in db.get_messages("s")]
    assert times[0] == first
    assert times[1] >= times[0] + 60
    assert times[2] >= times[1] + 60


def test_any_role_will_do(db: Any) -> None:
    for role in ("user", "assistant", "system", "tool", "session_meta", "developer", "function", "ünï"):
        db.create_session(role, "cli")
        db.append_message(role, "user", "before")
        db.append_message(role, role, "here")
        db.append_message(role, "user", "after")
        assert roles(db, role) == ["user", role, "user"]
        assert contents(db, role) == ["before", "here", "after"]
        assert [m["role"] for m in db.get_messages_as_conversation(role)] == ["user", role, "user"]
        assert counts(db, role) == (3, 0)


def test_nothing_said_is_not_the_same_as_an_empty_text(db: Any) -> None:
    for role in ("user", "assistant", "system", "tool", "session_meta"):
        db.create_session(role, "cli")
        db.append_message(role, role, None)
        db.append_message(role, role, "")
        assert contents(db, role) == [None, ""]
        assert [m["content"] for m in db.get_messages_as_conversation(role)] == [None, ""]


def test_a_count_of_tokens_comes_back(db: Any) -> None:
    db.create_session("s", "cli")
    given = [None, 0, 1, 2**40]
    for role in ("user", "assistant", "tool"):
        for count in given:
            db.append_message("s", role, "x", token_count=count)
    assert [row["token_count"] for row in db.get_messages("s")] == given * 3
    assert db.get_session("s")["output_tokens"] == 0


def test_what_belongs_to_other_roles_comes_back_too(db: Any) -> None:
    db.create_session("s", "cli")
    given = {"tool_name": "shell", "tool_call_id": "c9", "token_count": 7, "finish_reason": "stop", "reasoning": "hm"}
    for role in ("user", "system", "session_meta"):
        db.append_message("s", role, "x", **given)
    for row in db.get_messages("s"):
        assert {name: row[name] for name in given} == given


def test_an_empty_name_or_reason_is_not_null(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "assistant", "x", tool_name="", tool_call_id="", finish_reason="", reasoning="")
    (row,) = db.get_messages("s")
    assert [row[name] for name in ("tool_name", "tool_call_id", "finish_reason", "reasoning")] == [""] * 4


TEXTS = [
    "several\nlines\r\nand\ttabs\n\n",
    "   spaces around   ",
    "日本語と中文과 한국어",
    "🎉 👩‍👩‍👧 é ñ",
    "'; DROP TABLE messages; --",
    '{"type": "text", "text": "x"}',
    "<think>hidden?</think>",
    "null",
    "\\u0000 \\n",
    ">>>forged<<<",
    "x" * 200_000,
]


def test_a_text_comes_back_as_it_was(db: Any) -> None:
    db.create_session("s", "cli")
    for text in TEXTS:
        db.append_message("s", "user", text)
        db.append_message("s", "assistant", text, reasoning=text, tool_name=text[:50])
        db.append_message("s", "tool", text, tool_call_id=text[:50])
    assert contents(db, "s") == [text for text in TEXTS for _ in range(3)]
    rows = db.get_messages("s")
    assert [row["reasoning"] for row in rows[1::3]] == TEXTS
    assert [row["tool_name"] for row in rows[1::3]] == [text[:50] for text in TEXTS]
    assert [row["tool_call_id"] for row in rows[2::3]] == [text[:50] for text in TEXTS]


def test_a_text_may_have_a_nul_in_it(db: Any) -> None:
    db.create_session("s", "cli")
    for role in ("user", "assistant", "tool", "session_meta"):
        db.append_message("s", role, "a\x00b")
    assert contents(db, "s") == ["a\x00b"] * 4


@pytest.mark.promised("what was written comes back as it was; Hermes puts another character in its place")
def test_half_a_character_is_kept_as_it_came(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "user", "a\ud800b")
    db.append_message("s", "tool", "\udfff")
    assert contents(db, "s") == ["a\ud800b", "\udfff"]


# ---------------------------------------------------------------- content in several parts

PARTS = [
    {"type": "text", "text": "What is this?"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
]


def test_content_in_several_parts_comes_back_as_such(db: Any) -> None:
    for number, content in enumerate([PARTS, {"type": "text", "text": "x"}, ["a", 1, None, 1.5, True], [[]]]):
        for role in ("user", "tool"):
            name = f"{role} {number}"
            db.create_session(name, "cli")
            db.append_message(name, role, content)
            db.append_message(name, "assistant", "An image.")
            assert contents(db, name) == [content, "An image."]
            assert db.get_messages_as_conversation(name)[0]["content"] == content
            assert db.export_session(name)["messages"][0]["content"] == content
            assert counts(db, name) == (2, 0)


def test_an_assistant_may_answer_in_several_parts(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "assistant", PARTS, tool_calls=[call()])
    db.append_message("s", "tool", PARTS, tool_call_id="call_1")
    assert contents(db, "s") == [PARTS, PARTS]


# ---------------------------------------------------------------- json in columns


def test_promise_035_tool_calls_come_back_decoded_and_reasoning_as_json_text(db: Any) -> None:
    """Sessions carry their source; messages carry calls and reasoning as JSON."""
    details = [{"type": "reasoning.summary", "summary": "Über 1.10", "n": 1.5}, {"type": "x", "data": None}]
    items = [{"id": "rs_1", "encrypted_content": "gAAAA", "summary": []}]
    db.create_session("s", "telegram")
    db.append_message("s", "assistant", "yes", reasoning_details=details, codex_reasoning_items=items)
    (row,) = db.get_messages("s")
    assert row["reasoning_details"] == json.dumps(details)
    assert row["codex_reasoning_items"] == json.dumps(items)
    (message,) = db.get_messages_as_conversation("s")
    assert message["reasoning_details"] == details
    assert message["codex_reasoning_items"] == items
    assert db.get_session("s")["source"] == "telegram"


@pytest.mark.parametrize("nothing", [None, [], {}, ""])
def test_promise_035_no_reasoning_details_are_null(db: Any, nothing: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "assistant", "yes", reasoning_details=nothing, codex_reasoning_items=nothing)
    (row,) = db.get_messages("s")
    assert (row["reasoning_details"], row["codex_reasoning_items"]) == (None, None)
    assert set(db.get_messages_as_conversation("s")[0]) <= {"role", "content", "timestamp"}


@pytest.mark.parametrize("nothing", [None, []])
def test_promise_035_no_calls_are_null(db: Any, nothing: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "assistant", "yes", tool_calls=nothing)
    assert db.get_messages("s")[0]["tool_calls"] is None
    assert "tool_calls" not in db.get_messages_as_conversation("s")[0]
    assert counts(db, "s") == (1, 0)


CALLS: dict[str, Any] = {
    "one": [call()],
    "several": [call(f"call_{n}", f"tool {n}", json.dumps({"n": n})) for n in range(5)],
    "without an id": [{"function": {"name": "terminal", "arguments": "{}"}}],
    "without a name": [{"id": "call_1"}],
    "empty": [{}],
    "the same id twice": [call("c"), call("c", "other")],
    "arguments that are no json": [call(arguments="{not json")],
    "arguments that are an object": [{"id": "c", "function": {"name": "f", "arguments": {"a": [1, None, 1.5]}}}],
    "more in it": [{**call(), "index": 0, "extra_content": {"google": {"thought_signature": "x"}}, "call_id": "fc_1"}],
    "words": ["a", "b"],
    "odd characters": [call("c\x00 1", "tööl", '{"a": "\\u0000 🎉"}')],
    "an id of 300": [call("c" * 300, "n" * 300)],
    "not a list": call(),
}


def test_calls_of_any_shape_come_back_and_are_counted(db: Any) -> None:
    for name, calls in CALLS.items():
        db.create_session(name, "cli")
        db.append_message(name, "user", "go")
        db.append_message(name, "assistant", "", tool_calls=calls)
        db.append_message(name, "user", "go on")
        assert db.get_messages(name)[1]["tool_calls"] == calls
        assert db.get_messages_as_conversation(name)[1]["tool_calls"] == calls
        assert contents(db, name) == ["go", "", "go on"]
        assert counts(db, name) == (3, len(calls) if isinstance(calls, list) else 1)


@pytest.mark.parametrize("content", [None, "", "I will look."])
def test_an_assistant_with_calls_may_say_something_or_not(db: Any, content: str | None) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "assistant", content, tool_calls=[call()])
    assert contents(db, "s") == [content]
    db.append_message("s", "tool", "done", tool_call_id="call_1")
    assert contents(db, "s") == [content, "done"]
    assert db.get_messages_as_conversation("s")[0]["content"] == content


# ---------------------------------------------------------------- calls and their results


def test_a_call_and_its_result(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "user", "What is here?")
    db.append_message("s", "assistant", None, tool_calls=[call("c1", "ls")], finish_reason="tool_calls")
    db.append_message("s", "tool", "a.txt", tool_name="ls", tool_call_id="c1")
    db.append_message("s", "assistant", "One file.", finish_reason="stop")
    rows = db.get_messages("s")
    assert [row["role"] for row in rows] == ["user", "assistant", "tool", "assistant"]
    assert [row["content"] for row in rows] == ["What is here?", None, "a.txt", "One file."]
    assert [row["tool_call_id"] for row in rows] == [None, None, "c1", None]
    assert [row["tool_name"] for row in rows] == [None, None, "ls", None]
    assert [row["tool_calls"] for row in rows] == [None, [call("c1", "ls")], None, None]
    assert [row["finish_reason"] for row in rows] == [None, "tool_calls", None, "stop"]
    assert counts(db, "s") == (4, 1)


def test_results_come_back_in_the_order_in_which_they_came(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "assistant", None, tool_calls=[call("c1"), call("c2"), call("c3")])
    for id in ("c3", "c1", "c2"):
        db.append_message("s", "tool", f"of {id}", tool_call_id=id)
    assert [row["tool_call_id"] for row in db.get_messages("s")] == [None, "c3", "c1", "c2"]
    assert counts(db, "s") == (4, 3)


def test_between_results_everything_is_to_be_seen(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "user", "go")
    expected = ["go", None]
    db.append_message("s", "assistant", None, tool_calls=[call("c1"), call("c2")])
    assert contents(db, "s") == expected
    for id in ("c1", "c2"):
        db.append_message("s", "tool", f"of {id}", tool_call_id=id)
        expected.append(f"of {id}")
        assert contents(db, "s") == expected
        assert counts(db, "s") == (len(expected), 2)
        assert db.message_count("s") == db.message_count() == len(expected)


def test_a_call_without_a_result_stays_one(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "assistant", None, tool_calls=[call("c1"), call("c2")])
    db.append_message("s", "tool", "one", tool_call_id="c1")
    db.append_message("s", "user", "never mind")
    assert roles(db, "s") == ["assistant", "tool", "user"]
    assert counts(db, "s") == (3, 2)


def test_two_assistants_with_calls_in_a_row(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "assistant", "a", tool_calls=[call("c1")])
    db.append_message("s", "assistant", "b", tool_calls=[call("c2")])
    db.append_message("s", "tool", "of c1", tool_call_id="c1")
    db.append_message("s", "tool", "of c2", tool_call_id="c2")
    assert contents(db, "s") == ["a", "b", "of c1", "of c2"]
    assert roles(db, "s") == ["assistant", "assistant", "tool", "tool"]
    assert counts(db, "s") == (4, 2)


def test_an_id_of_a_call_may_come_again(db: Any) -> None:
    db.create_session("s", "cli")
    for number in range(4):
        db.append_message("s", "user", f"q{number}")
        db.append_message("s", "assistant", None, tool_calls=[call("call_1")])
        db.append_message("s", "tool", f"r{number}", tool_call_id="call_1")
        db.append_message("s", "assistant", f"a{number}")
    assert contents(db, "s") == [text for n in range(4) for text in (f"q{n}", None, f"r{n}", f"a{n}")]
    assert counts(db, "s") == (16, 4)


STRAYS: dict[str, dict[str, Any]] = {
    "of an unknown call": {"tool_call_id": "nobody's"},
    "of no call": {},
    "of an empty id": {"tool_call_id": ""},
    "of the same call again": {"tool_call_id": "c1"},
    "with a name": {"tool_call_id": "nobody's", "tool_name": "shell", "token_count": 4},
}


@pytest.mark.parametrize("given", STRAYS.values(), ids=STRAYS)
def test_a_result_that_nobody_waits_for_is_a_row_in_its_place(db: Any, given: dict[str, Any]) -> None:
    for content in ("stray", "", None):
        name = f"with {content}"
        db.create_session(name, "cli")
        db.append_message(name, "tool", content, **given)
        db.append_message(name, "user", "q")
        db.append_message(name, "assistant", None, tool_calls=[call("c1")])
        db.append_message(name, "tool", "result", tool_call_id="c1")
        db.append_message(name, "tool", content, **given)
        db.append_message(name, "assistant", "a")
        db.append_message(name, "tool", content, **given)
        rows = db.get_messages(name)
        assert [row["role"] for row in rows] == ["tool", "user", "assistant", "tool", "tool", "assistant", "tool"]
        assert [row["content"] for row in rows] == [content, "q", None, "result", content, "a", content]
        for row in (rows[0], rows[4], rows[6]):
            assert {name: row[name] for name in given} == given
        ids = [row["id"] for row in rows]
        assert ids == sorted(set(ids))
        assert counts(db, name) == (7, 1)
        assert [m["content"] for m in db.get_messages_as_conversation(name)] == [row["content"] for row in rows]


def test_a_stray_result_between_a_call_and_its_result(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "assistant", None, tool_calls=[call("c1")])
    db.append_message("s", "tool", "stray", tool_call_id="nobody's")
    db.append_message("s", "tool", "result", tool_call_id="c1")
    assert contents(db, "s") == [None, "stray", "result"]
    assert [row["tool_call_id"] for row in db.get_messages("s")] == [None, "nobody's", "c1"]
    assert counts(db, "s") == (3, 1)


def test_a_result_that_comes_too_late_is_in_its_place(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "assistant", None, tool_calls=[call("c1")])
    db.append_message("s", "user", "wait")
    db.append_message("s", "tool", "late", tool_call_id="c1", tool_name="sleep")
    db.append_message("s", "assistant", "ok")
    assert roles(db, "s") == ["assistant", "user", "tool", "assistant"]
    assert contents(db, "s") == [None, "wait", "late", "ok"]
    assert db.get_messages("s")[2]["tool_name"] == "sleep"


def test_calls_wait_while_others_speak_in_other_sessions(db: Any) -> None:
    for name in ("s", "t"):
        db.create_session(name, "cli")
        db.append_message(name, "assistant", None, tool_calls=[call("c1")])
    db.append_message("t", "tool", "of t", tool_call_id="c1")
    db.append_message("s", "tool", "of s", tool_call_id="c1")
    assert (contents(db, "s"), contents(db, "t")) == ([None, "of s"], [None, "of t"])


def test_a_session_may_end_and_go_on_while_a_call_waits(db: Any) -> None:
    db.create_session("s", "cli")
    db.append_message("s", "assistant", None, tool_calls=[call("c1")])
    db.end_session("s", "user_exit")
    assert contents(db, "s") == [None]
    db.reopen_session("s")
    db.append_message("s", "tool", "result", tool_call_id="c1")
    db.append_message("s", "assistant", "done")
    assert contents(db, "s") == [None, "result", "done"]
    assert counts(db, "s") == (3, 1)


# ---------------------------------------------------------------- counts


def test_promise_161_the_counts_are_the_real_ones(db: Any) -> None:
    """message_count is the number of rows, tool_call_count that of the calls in them; results are no calls."""
    db.create_session("s", "cli")
    assert counts(db, "s") == (0, 0)
    db.append_message("s", "user", "go")
    assert counts(db, "s") == (1, 0)
    db.append_message("s", "assistant", None, tool_calls=[call("c1"), call("c2"), call("c3")])
    assert counts(db, "s") == (2, 3)
    for number, id in enumerate(("c1", "c2", "c3"), 3):
        db.append_message("s", "tool", "x", tool_call_id=id)
        assert counts(db, "s") == (number, 3)
    db.append_message("s", "assistant", None, tool_calls=[call("c4")])
    assert counts(db, "s") == (6, 4)


def test_promise_161_after_any_rows_in_any_order_the_counts_are_the_real_ones(db: Any) -> None:
    chance = random.Random(161)
    sessions = ["a", "b", "c"]
    for name in sessions:
        db.create_session(name, "cli")
    for _ in range(60):
        name, role = chance.choice(sessions), chance.choice(["user", "assistant", "assistant", "tool", "tool", "odd"])
        calls = [call(f"c{chance.randrange(4)}") for _ in range(chance.randrange(4))] if role == "assistant" else None
        db.append_message(name, role, "x", tool_calls=calls, tool_call_id=f"c{chance.randrange(5)}")
    for name in sessions:
        rows = db.get_messages(name)
        assert counts(db, name) == (len(rows), sum(len(row["tool_calls"] or ()) for row in rows))
        assert db.message_count(name) == len(rows)
    assert db.message_count() == 60


def test_messages_are_counted_of_one_session_or_of_all(db: Any) -> None:
    assert db.message_count() == 0
    for name, rows in (("s", 3), ("t", 2), ("empty", 0)):
        db.create_session(name, "cli")
        for number in range(rows):
            db.append_message(name, "user", str(number))
    assert db.message_count() == 5
    assert db.message_count("s") == 3
    assert db.message_count(session_id="t") == 2
    assert db.message_count("empty") == 0
    assert db.message_count("nobody") == 0


# ---------------------------------------------------------------- numbers and order


def test_numbers_rise_and_are_unique_in_the_store(db: Any) -> None:
    for name in ("s", "t"):
        db.create_session(name, "cli")
    given = [(name, db.append_message(name, "user", str(n))) for n in range(5) for name in ("s", "t")]
    assert len({id for _, id in given}) == 10
    for name in ("s", "t"):
        mine = [id for of, id in given if of == name]
        assert mine == sorted(mine)
        assert [row["id"] for row in db.get_messages(name)] == mine


def test_a_number_stays_with_its_row(db: Any) -> None:
    db.create_session("s", "cli")
    ids = [db.append_message("s", "user", "q"), db.append_message("s", "assistant", None, tool_calls=[call("c1")])]
    assert [row["id"] for row in db.get_messages("s")] == ids
    ids.append(db.append_message("s", "tool", "r", tool_call_id="c1"))
    assert [row["id"] for row in db.get_messages("s")] == ids
    ids.append(db.append_message("s", "assistant", "a"))
    assert [row["id"] for row in db.get_messages("s")] == ids
    assert db.search_messages("q")[0]["id"] == ids[0]


def test_a_number_is_never_used_again(db: Any) -> None:
    db.create_session("s", "cli")
    used = {db.append_message("s", "user", "x") for _ in range(3)}
    db.clear_messages("s")
    again = {db.append_message("s", "user", "x") for _ in range(3)}
    assert not used & again
    assert min(again) > max(used)
    db.delete_session("s")
    db.create_session("s", "cli")
    third = {db.append_message("s", "user", "x") for _ in range(3)}
    assert min(third) > max(again)


def test_rows_come_in_the_order_in_which_they_were_appended(db: Any) -> None:
    db.create_session("s", "cli")
    for number in range(30):
        db.append_message("s", "user" if number % 2 else "assistant", str(number))
    assert contents(db, "s") == [str(number) for number in range(30)]
    rows = db.get_messages("s")
    assert sorted(rows, key=lambda row: (row["timestamp"], row["id"])) == rows


def test_sessions_do_not_mix(db: Any) -> None:
    for name in ("s", "t"):
        db.create_session(name, "cli")
    for number in range(4):
        db.append_message("st"[number % 2], "user", str(number))
    assert (contents(db, "s"), contents(db, "t")) == (["0", "2"], ["1", "3"])
    assert {row["session_id"] for row in db.get_messages("t")} == {"t"}


def test_an_unknown_session_has_no_messages(db: Any) -> None:
    assert db.get_messages("nobody") == []
    assert db.get_messages_as_conversation("nobody") == []


@pytest.mark.parametrize("role", ["user", "assistant", "tool", "session_meta"])
def test_appending_to_an_unknown_session_is_refused(db: Any, role: str) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        db.append_message("nobody", role, "x", tool_calls=[call()] if role == "assistant" else None)
    assert db.get_session("nobody") is None
    assert db.message_count() == 0
    assert db.search_messages("x") == []


def test_calls_without_an_id_and_with_the_same_one_all_come_back(db: Any) -> None:
    db.create_session("s", "cli")
    calls = [call("call-1"), {"function": {"name": "b", "arguments": "{}"}}, call("call-1"), call("call-0")]
    db.append_message("s", "assistant", "x", tool_calls=calls)
    assert db.get_messages("s")[0]["tool_calls"] == calls
    assert counts(db, "s") == (1, 4)
