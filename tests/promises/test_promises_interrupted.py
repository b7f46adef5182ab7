"""What a writer leaves that is killed at a chosen moment (rows 47, 53, 55, 57, 63).

Writers are real processes. They die by SIGKILL right after the call that a promise is about.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import palaver

from ..tools.planting import broken_by
from ..tools.sql import one, query
from .support_saving import Child, closed

STEP = [{"type": "start-step"}, {"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "hi"}]


def scripted(path: str, *turns: list[list[dict[str, Any]]], **options: Any) -> Child:
    return Child("script", path, turns=list(turns), **options)


# ---------------------------------------------------------------- before the model


@pytest.mark.parametrize("verb", ["text", "message", "edit"])
@broken_by("user_message_is_kept_in_memory")
def test_promise_047_a_user_message_is_persisted_before_it_reaches_the_model(path: str, verb: str) -> None:
    with Child("model_stub", path, verb=verb, said="what now, naïve 漢字?") as child:
        (called,) = child.wait()
    assert one(path, "SELECT count(*) FROM chat_messages WHERE role = 'user'") == 2
    kept = query(
        path, "SELECT p.data_json FROM chat_parts p JOIN chat_messages m ON m.id = p.message_id ORDER BY m.created_at"
    )
    assert json.loads(kept[-1][0]) == {"type": "text", "text": "what now, naïve 漢字?"}
    with palaver.open(path) as store:
        last = store.sessions.get(called["session"]).messages()[-1]
    assert (last["role"], last["parts"]) == ("user", [{"type": "text", "text": "what now, naïve 漢字?"}])


# ---------------------------------------------------------------- usage

USED = {"input": 11, "output": 7, "reasoning": 5, "cache_read": 3, "cache_write": 2}
METADATA = {"type": "message-metadata", "messageMetadata": {"usage": USED}}


def running(total: int) -> list[dict[str, Any]]:
    usage = {"input": total, "output": total * 2}
    return [{"type": "message-metadata", "messageMetadata": {"usage": usage}}, {"type": "finish-step"}]


@broken_by("usage_is_kept_until_the_seal")
def test_promise_054_after_each_finish_step_the_sums_are_those_of_the_messages(path: str) -> None:
    with scripted(path, [STEP, running(5), running(9)], [STEP, running(100)]) as child:
        child.wait()
    assert query(path, "SELECT prompt_tokens, completion_tokens, total_tokens FROM chat_sessions") == [(109, 218, 327)]
    used = "SELECT metadata_json ->> '$.usage.input' FROM chat_messages WHERE role = 'assistant' ORDER BY created_at"
    assert query(path, used) == [(9,), (100,)]
    assert query(path, "SELECT input_tokens, output_tokens FROM turns ORDER BY begin_seq") == [(9, 18), (100, 200)]


@pytest.mark.parametrize("told", ["by the stream", "by turn.usage()"])
@broken_by("usage_is_kept_until_the_seal")
def test_promise_057_usage_has_a_permanent_home_as_soon_as_it_is_emitted(path: str, told: str) -> None:
    calls = (
        [STEP, [METADATA, {"type": "finish-step"}]] if told == "by the stream" else [STEP, [{"type": "finish-step"}]]
    )
    with scripted(path, calls, **({} if told == "by the stream" else {"usage": USED})) as child:
        child.wait()
    counted = "prompt_tokens, completion_tokens, reasoning_tokens, cache_read, cache_write, total_tokens"
    for _ in range(2):
        assert query(path, f"SELECT {counted} FROM chat_sessions") == [(11, 7, 5, 3, 2, 28)]
        kept = one(path, "SELECT metadata_json -> 'usage' FROM chat_messages WHERE role = 'assistant'")
        assert json.loads(kept) == USED
        with palaver.open(path) as store:
            assert store.verify() == []


# ---------------------------------------------------------------- what a client saw

SEEN = [
    [{"type": "start", "messageId": "m"}, *STEP],
    [{"type": "text-delta", "id": "t", "delta": " – 漢字 \U0001f4a9 and mo"}],
    [{"type": "tool-input-start", "toolCallId": "c", "toolName": "run"}],
    [{"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": '{"a": [1, 2'}],
]


@broken_by("last_chunk_is_not_folded", "dead_turns_are_set_aside")
def test_promise_055_a_crashed_run_reads_back_as_the_client_saw_it(path: str) -> None:
    with scripted(path, SEEN, stays=True) as child:
        child.read_done(2)
        with palaver.open(path) as client:
            seen = client.sessions.get(child.lines[0]["session"]).messages()
        child.kill()
    with palaver.open(path) as store:
        left = store.sessions.get(child.lines[0]["session"]).messages()
    assert seen[1]["parts"][1]["text"] == "hi – 漢字 \U0001f4a9 and mo"
    assert seen[1]["parts"][2]["rawInput"] == '{"a": [1, 2'
    assert [{**m, "parts": closed(m["parts"])} for m in seen] == left


@broken_by("dead_turns_are_set_aside")
def test_promise_055_of_several_turns_the_first_lands_and_the_others_can_be_rescued(path: str) -> None:
    texts = [[*STEP, {"type": "text-delta", "id": "t", "delta": f" from turn {n}"}] for n in range(3)]
    with scripted(path, *([t] for t in texts)) as child:
        (line,) = child.wait()
    with palaver.open(path) as store:
        session = store.sessions.get(line["session"])
        assert [m["parts"][-1]["text"] for m in session.messages()] == ["question 0", "hi from turn 0"]
        assert [stray.id for stray in session.strays()] == line["turns"][1:]
        rescued = [session.fork(at=turn).messages() for turn in line["turns"][1:]]
    assert [[m["parts"][-1]["text"] for m in messages] for messages in rescued] == [
        ["question 1", "hi from turn 1"],
        ["question 2", "hi from turn 2"],
    ]


# ---------------------------------------------------------------- tools and aborts

OPEN_CALLS = [
    {"type": "tool-input-start", "toolCallId": "streaming", "toolName": "run"},
    {"type": "tool-input-available", "toolCallId": "available", "toolName": "run", "input": {"a": 1}},
    {"type": "tool-input-available", "toolCallId": "approval", "toolName": "run", "input": {"a": 1}},
    {"type": "tool-approval-request", "toolCallId": "approval", "approvalId": "x"},
    {"type": "tool-input-available", "toolCallId": "preliminary", "toolName": "run", "input": {"a": 1}},
    {"type": "tool-output-available", "toolCallId": "preliminary", "output": 1, "preliminary": True},
]
STATES = "SELECT tool_call_id, tool_state, data_json ->> 'errorText' FROM chat_parts WHERE tool_call_id IS NOT NULL"


@broken_by("open_tools_stay_open", "nothing_is_recovered")
def test_promise_063_no_state_of_a_tool_call_stays_running_for_ever(path: str) -> None:
    with scripted(path, [STEP, OPEN_CALLS]) as child:
        child.wait()
    assert [row[1] for row in query(path, STATES)] == [
        "input-streaming",
        "input-available",
        "approval-requested",
        "output-available",
    ]
    palaver.open(path).close()
    assert query(path, STATES) == [
        ("streaming", "output-error", "interrupted"),
        ("available", "output-error", "interrupted"),
        ("approval", "output-error", "interrupted"),
        ("preliminary", "output-error", "interrupted"),
    ]


@broken_by("living_writers_are_robbed", "nothing_is_recovered")
def test_promise_063_a_tool_call_runs_while_its_writer_lives_and_no_longer(path: str) -> None:
    call = {"type": "tool-input-available", "toolCallId": "c", "toolName": "run", "input": {"a": 1}}
    with scripted(path, [[*STEP, call]], stays=True) as child:
        child.read_done(2)
        palaver.open(path).close()
        assert one(path, "SELECT tool_state FROM chat_parts WHERE tool_call_id = 'c'") == "input-available"
        child.kill()
    palaver.open(path).close()
    kept = one(path, "SELECT data_json FROM chat_parts WHERE tool_call_id = 'c'")
    assert json.loads(kept) == {
        "type": "tool-run",
        "toolCallId": "c",
        "state": "output-error",
        "input": {"a": 1},
        "errorText": "interrupted",
    }


ABORTED = [[*STEP, {"type": "tool-input-start", "toolCallId": "c", "toolName": "run"}], [{"type": "abort"}]]


@broken_by("nothing_is_recovered")
def test_promise_053_a_crash_between_abort_and_finalize_leaves_a_finalized_message(path: str) -> None:
    with scripted(path, ABORTED) as child:
        (line,) = child.wait()
    with palaver.open(path) as store:
        parts = store.sessions.get(line["session"]).messages()[1]["parts"]
        assert store.verify() == []
    assert [part.get("state") for part in parts] == [None, "done", "output-error"]
    assert query(path, "SELECT status, sealed_at > 0, length(digest), owner FROM turns") == [("aborted", 1, 32, None)]
