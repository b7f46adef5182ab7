"""What the fold promises, in plain words."""

from __future__ import annotations

import copy
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from palaver.aisdk import chunks
from palaver.aisdk.folding import MISSING, Fold, fold
from palaver.aisdk.partial_json import parse_partial
from palaver.base import exact_json
from palaver.errors import BadValue, ChunkError

from . import streams
from .sdk import Oracle

Raw = msgspec.Raw
START = {"type": "start", "messageId": "m1"}
TOOL = {"type": "tool-input-available", "toolCallId": "c1", "toolName": "f", "input": {"a": 1}}


def folded(*given_chunks: Any, message: Any = None) -> Fold:
    state = Fold(message)
    for chunk in given_chunks:
        state.apply(chunks.parse(chunk)[0])
    return state


# ---------------------------------------------------------------- purity


@settings(max_examples=100, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(streams.requests())
def test_the_input_is_never_changed_nor_shared(request: dict[str, Any]) -> None:
    before = copy.deepcopy(request)
    try:
        result = fold(request["chunks"], request.get("message"))
    except ChunkError as error:
        result = error.message
    spoil(result)
    assert request == before


def spoil(value: Any) -> None:
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        spoil(inner)
    if isinstance(value, dict | list):
        value.clear()


def test_a_message_handed_out_may_be_changed() -> None:
    state = folded(START, {"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "x"})
    shown = state.message()
    shown["parts"][0]["text"] = "spoiled"
    shown["parts"].clear()
    state.part(0)["text"] = "spoiled"
    assert state.message()["parts"] == [{"type": "text", "text": "x", "state": "streaming"}]


# ---------------------------------------------------------------- refusals


def test_a_refused_chunk_says_what_and_where_and_changes_nothing() -> None:
    state = folded(START, TOOL)
    before = state.message()
    with pytest.raises(ChunkError) as caught:
        state.apply({"type": "text-delta", "id": "nope", "delta": "x"})
    error = caught.value
    assert (error.chunk_index, error.chunk_type, error.chunk_id) == (2, "text-delta", "nope")
    assert error.message["parts"][0]["input"] == {"a": 1}
    assert state.message() == before
    with pytest.raises(ChunkError) as caught:
        state.apply({"type": "tool-output-denied", "toolCallId": "z"})
    assert (caught.value.chunk_index, caught.value.chunk_type) == (2, "tool-invocation")


def test_metadata_that_cannot_merge_leaves_the_state_alone() -> None:
    state = folded(START | {"messageMetadata": "text"})
    with pytest.raises(ChunkError, match="Cannot use 'in' operator"):
        state.apply({"type": "finish", "finishReason": "stop", "messageMetadata": {"a": 1}})
    assert (state.finish_reason, state.metadata) == (None, "text")


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"type": 1},
        {"type": "text-delta", "id": "t"},
        {"type": "text-delta", "id": 1, "delta": "x"},
        {"type": "tool-input-start", "toolCallId": "c", "toolName": None},
        {"type": "start", "messageId": 7},
        "[]",
        '"text"',
        b"7",
        7,
    ],
)
def test_what_is_no_chunk_is_refused_with_its_place(odd: Any) -> None:
    with pytest.raises(ChunkError):
        chunks.parse(odd)
    with pytest.raises(ChunkError) as caught:
        fold([START, odd])
    assert caught.value.chunk_index == 1
    assert caught.value.message["id"] == "m1"


@pytest.mark.parametrize("odd", ["{", b"\xff", '{"type":NaN}', '{"type":"data-x","data":1e400}'])
def test_what_is_no_json_is_a_bad_value(odd: Any) -> None:
    with pytest.raises(BadValue):
        chunks.parse(odd)


def test_values_that_json_cannot_say_are_refused() -> None:
    for value in (float("nan"), {1: 2}, object()):
        with pytest.raises(BadValue):
            chunks.parse({"type": "data-x", "data": value})


def test_unknown_kinds_are_counted_but_do_nothing() -> None:
    state = folded(START, {"type": "reset-step"}, {"type": "abort", "reason": "r"}, {"type": "error", "errorText": "e"})
    assert state.message() == {"id": "m1", "role": "assistant", "parts": []}
    with pytest.raises(ChunkError) as caught:
        state.apply({"type": "text-end", "id": "t"})
    assert caught.value.chunk_index == 4


# ---------------------------------------------------------------- verbatim


def test_unknown_parts_and_keys_are_kept() -> None:
    message = {
        "id": "m1",
        "role": "assistant",
        "createdAt": "yesterday",
        "parts": [
            {"type": "custom", "kind": "x.y"},
            {"type": "text", "text": "a", "odd": [1]},
            {"type": "step-start", "k": 1},
        ],
    }
    assert fold([START], message) == message


VERBATIM = '{"b":1.10,"a":12345678901234567890123,"\\u0062":"\\u0000","s":"\\ud800","e":[1E5, 2]}'


@pytest.mark.parametrize(
    ("chunk", "field"),
    [
        ('{"type":"data-x","data":%s}', "data"),
        ('{"type":"tool-input-available","toolCallId":"c","toolName":"f","input":%s}', "input"),
        ('{"type":"tool-input-start","toolCallId":"c","toolName":"f","toolMetadata":%s}', "toolMetadata"),
        ('{"type":"file","url":"u","mediaType":"m","providerMetadata":%s}', "providerMetadata"),
        ('{"type":"data-x","data":0,"extra":%s}', "extra"),
    ],
)
def test_values_keep_their_bytes(chunk: str, field: str) -> None:
    text = chunk % VERBATIM
    parsed, kept = chunks.parse(text)
    assert kept == text
    state = Fold()
    state.apply(parsed)
    assert VERBATIM in exact_json.dump(state.part(0))
    assert VERBATIM in exact_json.dump(state.message())
    assert bytes(state.part(0)[field]).decode() == VERBATIM


def test_metadata_merges_keep_the_bytes_of_what_they_do_not_touch() -> None:
    state = folded(
        '{"type":"start","messageId":"m1","messageMetadata":{"n":{"price":1.10,"x":1},"k":12345678901234567890123}}',
        '{"type":"finish","messageMetadata":{"n":{"x":2.50},"new":null}}',
        '{"type":"message-metadata","messageMetadata":null}',
    )
    assert exact_json.dump(state.metadata) == '{"n":{"price":1.10,"x":2.50},"k":12345678901234567890123,"new":null}'


def test_deep_metadata_merges() -> None:
    def nested(leaf: str) -> str:
        return '{"a":' * 900 + leaf + "}" * 900

    start = '{"type":"start","messageMetadata":' + nested('{"x":1.10}') + "}"
    state = folded(start, '{"type":"message-metadata","messageMetadata":' + nested('{"y":2}') + "}")
    assert exact_json.dump(state.metadata) == nested('{"x":1.10,"y":2}')


def test_a_raw_null_is_a_null() -> None:
    state = Fold()
    state.apply({"type": "start", "messageId": "m1", "messageMetadata": Raw(b" null ")})
    state.apply({"type": "text-start", "id": "t", "providerMetadata": Raw(b'{"p":{}}')})
    state.apply({"type": "text-end", "id": "t", "providerMetadata": Raw(b"null")})
    assert state.metadata is MISSING
    assert bytes(state.part(0)["providerMetadata"]) == b'{"p":{}}'


def test_parse_shares_nothing_with_the_caller() -> None:
    given_chunk = {"type": "data-x", "data": {"a": [1]}, "id": "d", "n": 3, "flag": True, "none": None}
    parsed, text = chunks.parse(given_chunk)
    given_chunk["data"]["a"].append(2)  # type: ignore[index]
    assert text == '{"type":"data-x","data":{"a":[1]},"id":"d","n":3,"flag":true,"none":null}'
    assert bytes(parsed["data"]) == b'{"a":[1]}'
    assert (parsed["id"], parsed["flag"], parsed["none"]) == ("d", True, None)


def test_lone_surrogates_are_escaped_in_the_text_and_join_in_the_message() -> None:
    first, text = chunks.parse({"type": "text-delta", "id": "t", "delta": "a\ud83d"})
    assert text == '{"type":"text-delta","id":"t","delta":"a\\ud83d"}'
    second, _ = chunks.parse('{"type":"text-delta","id":"t","delta":"\\ude00b"}')
    raw, text = chunks.parse('{"type":"text-delta","id":"t","delta":"\ud83d"}')
    assert text == '{"type":"text-delta","id":"t","delta":"\\ud83d"}'
    state = folded({"type": "text-start", "id": "t"})
    for chunk in (first, second, raw):
        state.apply(chunk)
    assert state.part(0)["text"] == "a😀b\ud83d"
    assert exact_json.parse(exact_json.dump(state.part(0))) == state.part(0)


# ---------------------------------------------------------------- which part


def test_apply_names_the_part_it_touched() -> None:
    state = Fold()
    touched = [
        state.apply(chunk)
        for chunk in (
            START,
            {"type": "start-step"},
            {"type": "text-start", "id": "t"},
            TOOL,
            {"type": "text-delta", "id": "t", "delta": "x"},
            {"type": "data-x", "id": "d", "data": 1},
            {"type": "tool-output-available", "toolCallId": "c1", "output": 1},
            {"type": "data-x", "id": "d", "data": 2},
            {"type": "data-x", "id": "d", "data": 3, "transient": True},
            {"type": "finish"},
        )
    ]
    assert touched == [None, 0, 1, 2, 1, 3, 2, 3, None, None]


def test_one_tool_call_id_may_own_several_parts() -> None:
    state = folded(START, {"type": "start-step"}, TOOL, {"type": "start-step"}, TOOL, TOOL | {"dynamic": True})
    assert [part["type"] for part in state.parts] == [
        "step-start",
        "tool-f",
        "step-start",
        "tool-f",
        "dynamic-tool",
    ]
    state.apply({"type": "start-step"})
    assert state.apply({"type": "tool-output-available", "toolCallId": "c1", "output": 1}) == 4


# ---------------------------------------------------------------- resolving


def test_a_client_resolves_a_tool_by_output_error_or_approval() -> None:
    state = folded(START, TOOL)
    assert state.resolve("c1", output=None) == 0
    common = {"type": "tool-f", "toolCallId": "c1", "input": {"a": 1}}
    assert plainly(state)["parts"] == [common | {"state": "output-available", "output": None}]
    state.resolve("c1", error="late")
    assert plainly(state)["parts"] == [common | {"state": "output-error", "errorText": "late"}]


def test_an_approval_is_answered_once() -> None:
    request = {"type": "tool-approval-request", "toolCallId": "c1", "approvalId": "ap", "signature": "s"}
    state = folded(START, TOOL, request)
    assert [part["toolCallId"] for part in state.unresolved()] == ["c1"]
    state.resolve("c1", approved=False, reason="no")
    assert state.part(0)["state"] == "approval-responded"
    assert state.part(0)["approval"] == {"id": "ap", "signature": "s", "approved": False, "reason": "no"}
    with pytest.raises(ChunkError, match="not waiting for approval"):
        state.resolve("c1", approved=True)


def test_resolve_refuses_what_makes_no_sense() -> None:
    state = folded(START, TOOL)
    for odd in ({}, {"output": 1, "error": "e"}, {"error": "e", "approved": True}):
        with pytest.raises(BadValue):
            state.resolve("c1", **odd)  # type: ignore[arg-type]
    with pytest.raises(ChunkError, match='No tool invocation found for tool call ID "c9"'):
        state.resolve("c9", output=1)


def test_a_preliminary_output_is_unresolved() -> None:
    state = folded(START, TOOL, {"type": "tool-output-available", "toolCallId": "c1", "output": 1, "preliminary": True})
    assert len(state.unresolved()) == 1
    state.resolve("c1", output=2)
    assert state.unresolved() == []
    assert "preliminary" not in state.part(0)


# ---------------------------------------------------------------- closing

OPEN_TOOLS: dict[str, list[dict[str, Any]]] = {
    "input-streaming": [
        {"type": "tool-input-start", "toolCallId": "c1", "toolName": "f"},
        {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": '{"a":1,"b'},
    ],
    "input-streaming-without-text": [{"type": "tool-input-start", "toolCallId": "c1", "toolName": "f"}],
    "input-available": [TOOL],
    "approval-requested": [TOOL, {"type": "tool-approval-request", "toolCallId": "c1", "approvalId": "ap"}],
    "preliminary": [
        TOOL,
        {"type": "tool-output-available", "toolCallId": "c1", "output": 1, "preliminary": True},
    ],
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", OPEN_TOOLS)
def test_a_closed_message_can_go_to_a_model_again(sdk: Oracle, name: str, dynamic: bool) -> None:
    extra = {"dynamic": True} if dynamic else {}
    text = [{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "so"}]
    state = folded(START, {"type": "start-step"}, *text, *(chunk | extra for chunk in OPEN_TOOLS[name]))
    assert state.close("interrupted", text_state=True) == [1, 2]
    message = plainly(state)
    assert message["parts"][1] == {"type": "text", "text": "so", "state": "done"}
    tool = message["parts"][2]
    assert (tool["state"], tool["errorText"]) == ("output-error", "interrupted")
    assert tool.get("rawInput") == ('{"a":1,"b' if name == "input-streaming" else None)
    assert "approval" not in tool and "output" not in tool and "preliminary" not in tool
    asked = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}]}
    answer = sdk.ask("validate", [asked, message, asked])
    assert answer["ok"], answer
    assert state.unresolved() == [] and state.close("again", text_state=True) == []


def test_a_granted_approval_stays_when_its_tool_is_closed(sdk: Oracle) -> None:
    state = folded(START, {"type": "start-step"}, *OPEN_TOOLS["approval-requested"])
    state.resolve("c1", approved=True)
    state.close("interrupted", text_state=False)
    assert state.part(1)["approval"] == {"id": "ap", "approved": True}
    assert sdk.ask("validate", [plainly(state)])["ok"]


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_denied_call_is_closed_as_denied_as_the_sdk_has_it(sdk: Oracle, dynamic: bool) -> None:
    extra = {"dynamic": True} if dynamic else {}
    state = folded(START, {"type": "start-step"}, *(chunk | extra for chunk in OPEN_TOOLS["approval-requested"]))
    state.resolve("c1", approved=False, reason="never")
    assert state.close("interrupted", text_state=True) == [1]
    assert state.part(1)["state"] == "output-denied" and "errorText" not in state.part(1)
    assert state.part(1)["approval"] == {"id": "ap", "approved": False, "reason": "never"}
    assert sdk.ask("validate", [plainly(state)])["ok"]


def test_text_stays_open_unless_asked_for() -> None:
    state = folded({"type": "text-start", "id": "t"}, TOOL)
    assert state.close("interrupted", text_state=False) == [1]
    assert state.apply({"type": "text-delta", "id": "t", "delta": "more"}) == 0
    assert state.part(0) == {"type": "text", "text": "more", "state": "streaming"}


def plainly(state: Fold) -> dict[str, Any]:
    return exact_json.parse(exact_json.dump(state.message()))  # type: ignore[no-any-return]


# ---------------------------------------------------------------- cost


def test_long_streams_are_folded_whole() -> None:
    state = folded(
        START,
        {"type": "text-start", "id": "t"},
        {"type": "tool-input-start", "toolCallId": "c", "toolName": "f"},
    )
    for _ in range(100_000):
        state.apply({"type": "text-delta", "id": "t", "delta": "é" * 10})
        state.apply({"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": "[1, "})
    assert len(state.part(0)["text"]) == 1_000_000


def test_late_outputs_in_a_message_of_many_parts() -> None:
    calls = [TOOL | {"toolCallId": f"c{n}"} for n in range(10_000)]
    outputs = [{"type": "tool-output-available", "toolCallId": call["toolCallId"], "output": 1} for call in calls]
    message = fold([START, *calls, {"type": "start-step"}, *outputs])
    assert {part.get("state") for part in message["parts"]} == {"output-available", None}


def test_partial_json_survives_size_and_depth() -> None:
    found, value = parse_partial('{"a":"' + "x" * 1_000_000 + '","b":[' + "1," * 200_000)
    assert found and len(value["b"]) == 200_000
    assert parse_partial("[" * 900)[0]
    assert parse_partial("[" * 200_000) == (False, None)
    assert parse_partial("[" + "9" * 5_000) == (True, [None])
    assert parse_partial("[12345678901234567890123, 1e400") == (True, [12345678901234567890123, None])


def test_importing_the_fold_is_light() -> None:
    heavy = "{'apsw', 'asyncio', 'click', 'sqlite3'}"
    code = f"import sys, palaver.aisdk.folding; print(*{heavy}.intersection(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    assert done.stdout.strip() == b""
