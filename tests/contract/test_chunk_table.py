"""The contract's table of chunks and upserts, line by line, read from the rows with plain SQL after every chunk.

The part rows hold the AI SDK's own shape (camelCase, with its `state`), so each line is checked as: which row, which
type, which columns, and the fields that the table names.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

import palaver

from . import judge

Row = dict[str, Any]


class Stream:
    """A turn, and its part rows as another program reads them."""

    def __init__(self, store: palaver.Store) -> None:
        self.store = store
        self.session = store.sessions.create("coder")
        self.turn = self.session.turn("Go")

    def write(self, **chunk: Any) -> list[Row]:
        self.turn.write(chunk)
        return self.parts()

    def parts(self) -> list[Row]:
        query = (
            'SELECT p.id, "index", type, data_json, tool_call_id, tool_state FROM chat_parts p JOIN chat_messages m'
            " ON m.id = p.message_id WHERE m.role = 'assistant' AND m.session_id = ? ORDER BY \"index\""
        )
        return [self._row(row) for row in self.sql(query, self.session.id)]

    @staticmethod
    def _row(row: tuple[Any, ...]) -> Row:
        names = ("id", "index", "type", "data", "tool_call_id", "tool_state")
        made = dict(zip(names, row, strict=True))
        return made | {"data": json.loads(made["data"])}

    def sql(self, query: str, *params: Any) -> list[tuple[Any, ...]]:
        with judge.opened(self.store.path) as db:
            return list(db.execute(query, params))

    def session_row(self) -> tuple[Any, ...]:
        columns = (
            "updated_at, prompt_tokens, completion_tokens, reasoning_tokens, cache_read, cache_write, total_tokens"
        )
        return self.sql(f"SELECT {columns} FROM chat_sessions WHERE id = ?", self.session.id)[0]


@pytest.fixture
def stream(path: str) -> Iterator[Stream]:
    with palaver.open(path, save_buffer_ms=0) as store:
        yield Stream(store)


def only(rows: list[Row]) -> Row:
    assert len(rows) == 1
    return rows[0]


# ---------------------------------------------------------------- text and reasoning


@pytest.mark.parametrize("kind", ["text", "reasoning"])
def test_start_makes_an_empty_row_deltas_grow_it_and_end_leaves_its_text(stream: Stream, kind: str) -> None:
    row = only(stream.write(type=f"{kind}-start", id="1"))
    assert (row["type"], row["index"], row["data"]["type"], row["data"]["text"]) == (kind, 0, kind, "")
    for delta, running in (("Once ", "Once "), ("upon ", "Once upon "), ("a time", "Once upon a time")):
        grown = only(stream.write(type=f"{kind}-delta", id="1", delta=delta))
        assert (grown["id"], grown["data"]["text"]) == (row["id"], running)
    ended = only(stream.write(type=f"{kind}-end", id="1"))
    assert (ended["id"], ended["type"], ended["data"]["text"]) == (row["id"], kind, "Once upon a time")
    assert (ended["tool_call_id"], ended["tool_state"]) == (None, None)


def test_two_texts_that_stream_at_once_grow_each_in_its_own_row(stream: Stream) -> None:
    stream.write(type="text-start", id="a")
    stream.write(type="text-start", id="b")
    stream.write(type="text-delta", id="b", delta="second")
    rows = stream.write(type="text-delta", id="a", delta="first")
    assert [(row["index"], row["data"]["text"]) for row in rows] == [(0, "first"), (1, "second")]


# ---------------------------------------------------------------- tools


def test_a_tool_call_goes_through_its_states_on_one_row(stream: Stream) -> None:
    call = {"toolCallId": "c1"}
    row = only(stream.write(type="tool-input-start", toolName="grep", **call))
    assert (row["type"], row["tool_call_id"], row["tool_state"]) == ("tool-grep", "c1", "input-streaming")
    states = [
        only(stream.write(type="tool-input-delta", inputTextDelta='{"q": ', **call)),
        only(stream.write(type="tool-input-delta", inputTextDelta='"x"}', **call)),
        only(stream.write(type="tool-input-available", toolName="grep", input={"q": "x"}, **call)),
        only(stream.write(type="tool-output-available", output=["a", "b"], **call)),
    ]
    assert {state["id"] for state in states} == {row["id"]}
    assert [state["tool_state"] for state in states] == [
        "input-streaming",
        "input-streaming",
        "input-available",
        "output-available",
    ]
    assert states[2]["data"]["input"] == {"q": "x"}
    assert states[3]["data"]["output"] == ["a", "b"]
    assert states[3]["data"]["toolCallId"] == states[3]["tool_call_id"] == "c1"


def test_a_tool_that_fails_has_its_error_text_on_the_same_row(stream: Stream) -> None:
    row = only(stream.write(type="tool-input-available", toolCallId="c1", toolName="grep", input={}))
    failed = only(stream.write(type="tool-output-error", toolCallId="c1", errorText="no such file"))
    assert (failed["id"], failed["tool_state"]) == (row["id"], "output-error")
    assert failed["data"]["errorText"] == "no such file"


def test_an_approval_goes_through_its_states_on_the_same_row(stream: Stream) -> None:
    stream.write(type="tool-input-available", toolCallId="c1", toolName="rm", input={})
    asked = only(stream.write(type="tool-approval-request", toolCallId="c1", approvalId="a1"))
    stream.turn.resolve("c1", approved=False, reason="no")
    answered = only(stream.parts())
    denied = only(stream.write(type="tool-output-denied", toolCallId="c1"))
    states = [row["tool_state"] for row in (asked, answered, denied)]
    assert states == ["approval-requested", "approval-responded", "output-denied"]


def test_a_dynamic_tool_keeps_its_type_and_names_the_tool_inside(stream: Stream) -> None:
    row = only(stream.write(type="tool-input-available", toolCallId="c1", toolName="mcp", dynamic=True, input={}))
    assert (row["type"], row["data"]["toolName"], row["tool_call_id"]) == ("dynamic-tool", "mcp", "c1")


def test_a_late_output_finds_its_row_by_its_call_id(stream: Stream) -> None:
    stream.write(type="start-step")
    early = stream.write(type="tool-input-available", toolCallId="early", toolName="slow", input={})[1]
    stream.write(type="finish-step")
    stream.write(type="start-step")
    for number in range(5):
        stream.write(type="tool-input-available", toolCallId=f"c{number}", toolName="fast", input={})
    rows = stream.write(type="tool-output-available", toolCallId="early", output="at last")
    assert len(rows) == 8
    assert (rows[1]["id"], rows[1]["tool_state"], rows[1]["data"]["output"]) == (
        early["id"],
        "output-available",
        "at last",
    )


# ---------------------------------------------------------------- the others


@pytest.mark.parametrize(
    "chunk",
    [
        {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"},
        {"type": "source-url", "sourceId": "s1", "url": "https://example.org", "title": "Example"},
        {"type": "source-document", "sourceId": "s2", "mediaType": "text/plain", "title": "Notes", "filename": "n.txt"},
        {"type": "data-weather", "id": "w", "data": {"deep": [1.5, None, {"k": "v"}]}},
        {"type": "data-plain", "data": "without an id"},
    ],
    ids=lambda chunk: chunk["type"],
)
def test_a_chunk_that_is_a_part_is_in_the_row_whole_with_its_type_echoed(stream: Stream, chunk: dict[str, Any]) -> None:
    row = only(stream.write(**chunk))
    assert row["type"] == chunk["type"]
    assert row["data"] == chunk


def test_data_with_the_same_id_replaces_the_row_and_with_another_adds_one(stream: Stream) -> None:
    first = only(stream.write(type="data-progress", id="p", data=10))
    second = only(stream.write(type="data-progress", id="p", data=90))
    assert (second["id"], second["data"]["data"]) == (first["id"], 90)
    assert len(stream.write(type="data-progress", id="q", data=0)) == 2


def test_transient_data_has_no_row(stream: Stream) -> None:
    assert stream.write(type="data-tick", data=1, transient=True) == []


@pytest.mark.parametrize("kind", ["finish-step", "finish", "start", "message-metadata"])
def test_what_is_observed_only_makes_no_row_and_changes_none(stream: Stream, kind: str) -> None:
    stream.write(type="text-start", id="1")
    stream.write(type="text-delta", id="1", delta="so far")
    before = stream.parts()
    assert stream.write(type=kind, messageMetadata={"seen": True}) == before


def test_the_number_of_rows_is_constant_while_states_advance(stream: Stream) -> None:
    stream.write(type="text-start", id="t")
    stream.write(type="reasoning-start", id="r")
    ids = [row["id"] for row in stream.write(type="tool-input-start", toolCallId="c1", toolName="grep")]
    steps = [
        {"type": "text-delta", "id": "t", "delta": "x"},
        {"type": "reasoning-delta", "id": "r", "delta": "y"},
        {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": "{}"},
        {"type": "text-end", "id": "t"},
        {"type": "reasoning-end", "id": "r"},
        {"type": "tool-input-available", "toolCallId": "c1", "toolName": "grep", "input": {}},
        {"type": "tool-output-available", "toolCallId": "c1", "output": 1, "preliminary": True},
        {"type": "tool-output-available", "toolCallId": "c1", "output": 2},
        {"type": "finish-step"},
        {"type": "finish"},
    ]
    for chunk in steps:
        assert [row["id"] for row in stream.write(**chunk)] == ids
    stream.turn.seal()
    assert [row["id"] for row in stream.parts()] == ids


# ---------------------------------------------------------------- the message and the session row


def test_the_assistant_row_is_made_by_the_first_chunk_and_not_before(stream: Stream) -> None:
    count = "SELECT count(*) FROM chat_messages WHERE role = 'assistant'"
    assert stream.sql(count) == [(0,)]
    stream.write(type="start", messageId="msg_9c82cc000001Abcdefghij0123")
    assert stream.sql(count) == [(1,)]
    stream.write(type="text-start", id="1")
    assert stream.sql("SELECT id FROM chat_messages WHERE role = 'assistant'") == [("msg_9c82cc000001Abcdefghij0123",)]


def test_the_user_row_is_there_before_any_chunk(stream: Stream) -> None:
    found = stream.sql("SELECT m.role, p.data_json FROM chat_messages m JOIN chat_parts p ON p.message_id = m.id")
    assert found == [("user", '{"type":"text","text":"Go"}')]


def let_a_millisecond_pass() -> None:
    start, deadline = time.time_ns() // 1_000_000, time.monotonic() + 5
    while time.time_ns() // 1_000_000 <= start and time.monotonic() < deadline:
        pass


@pytest.mark.parametrize("kind", ["finish-step", "finish"])
def test_the_end_of_a_step_moves_updated_at_of_the_session(stream: Stream, kind: str) -> None:
    stream.write(type="start-step")
    before = stream.session_row()[0]
    let_a_millisecond_pass()
    stream.write(type=kind)
    assert stream.session_row()[0] > before


def test_usage_that_comes_with_the_stream_is_in_the_rollups_at_once(stream: Stream) -> None:
    usage = {"input": 10, "output": 20, "reasoning": 3, "cache_read": 4, "cache_write": 5}
    stream.write(type="start-step")
    stream.write(type="finish-step")
    stream.write(type="finish", messageMetadata={"usage": usage})
    assert stream.session_row()[1:] == (10, 20, 3, 4, 5, 42)


def test_usage_told_step_by_step_adds_up_in_the_message_and_in_the_rollups(stream: Stream) -> None:
    for number in (1, 2, 3):
        stream.write(type="start-step")
        stream.turn.usage(input=10 * number, output=number)
        stream.write(type="finish-step")
        assert judge.look(stream.store.path).violations == []
    assert stream.session_row()[1:] == (60, 6, 0, 0, 0, 66)
    (text,) = stream.sql("SELECT metadata_json FROM chat_messages WHERE role = 'assistant'")[0]
    assert json.loads(text)["usage"]["input"] == 60


def test_an_abort_finalises_the_message_in_flight(stream: Stream) -> None:
    stream.write(type="text-start", id="1")
    stream.write(type="text-delta", id="1", delta="half a sen")
    stream.write(type="tool-input-available", toolCallId="c1", toolName="grep", input={})
    stream.write(type="abort")
    stream.turn.seal()
    text, tool = stream.parts()
    assert (text["data"]["text"], text["data"]["state"]) == ("half a sen", "done")
    assert (tool["tool_state"], tool["data"]["errorText"]) == ("output-error", "interrupted")
    assert stream.turn.status == "aborted"


def test_an_unknown_chunk_makes_no_row_and_stops_nothing(stream: Stream) -> None:
    assert stream.write(type="tool-input-progress", toolCallId="c1", percent=5) == []
    assert only(stream.write(type="text-start", id="1"))["type"] == "text"
