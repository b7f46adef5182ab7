"""What a killed writer leaves (rows 47, 49, 53, 54, 55, 57, 63, 64, 70).

Writers are real processes, killed by SIGKILL while they stream. What they left is looked at by plain SQL first, then
by opening the store, which recovers it.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import palaver

from .sabotage import broken_by
from .support_saving import (
    Child,
    Told,
    Wreck,
    closed,
    comparable,
    last_usage,
    one,
    part_rows,
    query,
    shown,
    wreck,
)

UNRESOLVED = "tool_state NOT IN ('output-available', 'output-error', 'output-denied')"


@pytest.fixture(scope="module", params=[6, pytest.param(60, marks=pytest.mark.long)], ids=lambda n: f"{n} kills")
def wrecks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Wreck]:
    """Stores whose writer was killed at random moments."""
    folder, seed = tmp_path_factory.mktemp("wrecks"), random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    return [wreck(folder / str(n), chance.randint(4, 150), chance.getrandbits(32)) for n in range(request.param)]


def scripted(path: str, *turns: list[list[dict[str, Any]]], **options: Any) -> Child:
    return Child("script", path, turns=list(turns), **options)


# ---------------------------------------------------------------- before the model


@pytest.mark.parametrize("verb", ["text", "message", "edit"])
@broken_by("user_message_is_kept_in_memory")
def test_promise_047_a_user_message_is_persisted_before_it_reaches_the_model(path: str, verb: str) -> None:
    with Child("model_stub", path, verb=verb, said="what now, naïve 漢字?") as child:
        (called,) = child.read_all()
    assert one(path, "SELECT count(*) FROM chat_messages WHERE role = 'user'") == 2
    kept = query(
        path, "SELECT p.data_json FROM chat_parts p JOIN chat_messages m ON m.id = p.message_id ORDER BY m.created_at"
    )
    assert json.loads(kept[-1][0]) == {"type": "text", "text": "what now, naïve 漢字?"}
    with palaver.open(path) as store:
        last = store.sessions.get(called["session"]).messages()[-1]
    assert (last["role"], last["parts"]) == ("user", [{"type": "text", "text": "what now, naïve 漢字?"}])


# ---------------------------------------------------------------- chunks


def stored_chunks(path: str, turn_id: str) -> list[dict[str, Any]]:
    found = query(
        path,
        "SELECT e.data FROM turns t JOIN events e ON e.session_id = t.session_id AND e.turn = t.begin_seq "
        "WHERE t.id = ? AND e.kind = 'chunk' ORDER BY e.seq",
        turn_id,
    )
    return [json.loads(row[0]) for row in found]


def answer_rows(path: str, turn_id: str) -> list[dict[str, Any]]:
    response = one(path, "SELECT response_id FROM turns WHERE id = ?", turn_id)
    return comparable(part_rows(path, response)) if response else []


@broken_by("chunks_are_acknowledged_early")
def test_promise_049_every_acknowledged_chunk_survives_a_process_crash(wrecks: list[Wreck]) -> None:
    acknowledged = 0
    for left in wrecks:
        for turn in left.turns:
            acknowledged += len(turn.chunks)
            if turn.id is not None and not turn.sealing:
                assert stored_chunks(left.path, turn.id) in turn.possible
            elif turn.id is not None and turn.sealed:
                assert answer_rows(left.path, turn.id) == comparable(shown(turn.chunks))
    assert acknowledged > len(wrecks)


# ---------------------------------------------------------------- usage


def sums(path: str) -> tuple[Any, Any, Any]:
    """The session's rollups; the sums over its assistant messages; the sums over its turns."""
    rollups = query(path, "SELECT prompt_tokens, completion_tokens, cache_read, total_tokens FROM chat_sessions")
    messages = query(
        path,
        "SELECT sum(u ->> 'input'), sum(u ->> 'output'), sum(u ->> 'cache_read'), "
        "sum((u ->> 'input') + (u ->> 'output') + (u ->> 'cache_read')) "
        "FROM (SELECT metadata_json -> 'usage' AS u FROM chat_messages WHERE role = 'assistant') WHERE u IS NOT NULL",
    )
    turns = query(
        path,
        "SELECT sum(input_tokens), sum(output_tokens), sum(cache_read), sum(input_tokens + output_tokens + cache_read) "
        "FROM turns",
    )
    return rollups[0], tuple(n or 0 for n in messages[0]), tuple(n or 0 for n in turns[0])


def possible_sums(turns: list[Told]) -> list[int]:
    """The output tokens that may be in the store: all acknowledged steps, or the one in flight more."""
    known = sum(last_usage(turn.chunks).get("output", 0) for turn in turns[:-1])
    return [known + last_usage(chunks).get("output", 0) for chunks in turns[-1].possible]


@broken_by("usage_is_kept_until_the_seal", "updated_at_is_left_alone")
def test_promise_054_rollups_and_updated_at_follow_every_finish_step_in_its_transaction(wrecks: list[Wreck]) -> None:
    for left in wrecks:
        rollups, messages, turns = sums(left.path)
        assert rollups == messages == turns
        assert rollups[1] in possible_sums(left.turns)
        step, updated = query(
            left.path,
            "SELECT (SELECT max(at) FROM events WHERE data ->> 'type' = 'finish-step'), updated_at FROM chat_sessions",
        )[0]
        assert updated >= (step or 0)


STEP = [{"type": "start-step"}, {"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "hi"}]
USED = {"input": 11, "output": 7, "reasoning": 5, "cache_read": 3, "cache_write": 2}
METADATA = {"type": "message-metadata", "messageMetadata": {"usage": USED}}


@pytest.mark.parametrize("told", ["by the stream", "by turn.usage()"])
@broken_by("usage_is_kept_until_the_seal")
def test_promise_057_usage_has_a_permanent_home_as_soon_as_it_is_emitted(path: str, told: str) -> None:
    calls = (
        [STEP, [METADATA, {"type": "finish-step"}]] if told == "by the stream" else [STEP, [{"type": "finish-step"}]]
    )
    with scripted(path, calls, **({} if told == "by the stream" else {"usage": USED})) as child:
        child.read_all()
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
    with scripted(path, SEEN, park=True) as child:
        child.read_done(2)
        with palaver.open(path) as client:
            seen = client.sessions.get(child.lines[0]["session"]).messages()
        child.kill()
    with palaver.open(path) as store:
        left = store.sessions.get(child.lines[0]["session"]).messages()
    assert seen[1]["parts"][1]["text"] == "hi – 漢字 \U0001f4a9 and mo"
    assert seen[1]["parts"][2]["rawInput"] == '{"a": [1, 2'
    assert [{**m, "parts": closed(m["parts"])} for m in seen] == left


@broken_by("chunks_are_acknowledged_early")
def test_promise_055_never_fewer_bytes_and_never_others_than_a_client_was_shown(wrecks: list[Wreck]) -> None:
    for left in wrecks:
        turn = left.turns[-1]
        if turn.id is None or turn.sealing:
            continue
        response = one(left.path, "SELECT response_id FROM turns WHERE id = ?", turn.id)
        stored = stored_chunks(left.path, turn.id)
        assert "".join(c.get("delta", "") for c in stored) in [
            "".join(c.get("delta", "") for c in chunks) for chunks in turn.possible
        ]
        assert (response is None) == (stored == [])


@broken_by("dead_turns_are_set_aside")
def test_promise_055_of_several_turns_the_first_lands_and_the_others_can_be_rescued(path: str) -> None:
    texts = [[*STEP, {"type": "text-delta", "id": "t", "delta": f" from turn {n}"}] for n in range(3)]
    with scripted(path, *([t] for t in texts)) as child:
        (line,) = child.read_all()
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


@broken_by("open_tools_stay_open", "nothing_is_recovered")
def test_promise_063_interrupted_tool_calls_are_visible_as_interrupted(wrecks: list[Wreck], tmp_path: Path) -> None:
    interrupted = 0
    for left in (w.copy(tmp_path) for w in wrecks):
        before = query(left.path, f"SELECT id FROM chat_parts WHERE {UNRESOLVED}")
        palaver.open(left.path).close()
        assert query(left.path, f"SELECT id FROM chat_parts WHERE {UNRESOLVED}") == []
        for (part,) in before:
            data = json.loads(one(left.path, "SELECT data_json FROM chat_parts WHERE id = ?", part))
            assert (data["state"], data["errorText"]) == ("output-error", "interrupted")
            interrupted += 1
    print(f"{interrupted} calls were interrupted")


@broken_by("living_writers_are_robbed", "nothing_is_recovered")
def test_promise_063_a_tool_call_runs_while_its_writer_lives_and_no_longer(path: str) -> None:
    call = {"type": "tool-input-available", "toolCallId": "c", "toolName": "run", "input": {"a": 1}}
    with scripted(path, [[*STEP, call]], park=True) as child:
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


COMPLETED_WITH_OPEN_TOOLS = (
    "SELECT t.id FROM turns t JOIN turn_entries e ON e.turn_id = t.id AND e.kind = 'part' "
    f"JOIN chat_parts p ON p.id = e.ref WHERE t.status = 'completed' AND p.{UNRESOLVED}"
)


@broken_by("dead_turns_are_called_complete")
def test_promise_064_every_completed_turn_has_its_tool_calls_resolved(wrecks: list[Wreck], tmp_path: Path) -> None:
    for left in (w.copy(tmp_path) for w in wrecks):
        assert query(left.path, COMPLETED_WITH_OPEN_TOOLS) == []
        palaver.open(left.path).close()
        assert query(left.path, COMPLETED_WITH_OPEN_TOOLS) == []
        last = left.turns[-1]
        if last.id is not None and not last.sealing:
            assert one(left.path, "SELECT status FROM turns WHERE id = ?", last.id) == "aborted"


ABORTED = [[*STEP, {"type": "tool-input-start", "toolCallId": "c", "toolName": "run"}], [{"type": "abort"}]]


@broken_by("nothing_is_recovered")
def test_promise_053_a_crash_between_abort_and_finalize_leaves_a_finalized_message(path: str) -> None:
    with scripted(path, ABORTED) as child:
        (line,) = child.read_all()
    with palaver.open(path) as store:
        parts = store.sessions.get(line["session"]).messages()[1]["parts"]
        assert store.verify() == []
    assert [part.get("state") for part in parts] == [None, "done", "output-error"]
    assert query(path, "SELECT status, sealed_at > 0, length(digest), owner FROM turns") == [("aborted", 1, 32, None)]


# ---------------------------------------------------------------- export


def expected(turns: list[Told], last: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """(role, parts) of every message that was written; the last turn with these chunks."""
    messages: list[tuple[str, Any]] = []
    for turn in turns:
        chunks = last if turn is turns[-1] else turn.chunks
        messages.append(("user", [{"type": "text", "text": turn.said}]))
        if chunks:
            messages.append(("assistant", comparable(closed(shown(chunks)))))
    return messages


@broken_by("last_chunk_is_not_folded", "chunks_are_acknowledged_early")
def test_promise_070_an_export_equals_what_was_written_at_any_crash_point(wrecks: list[Wreck], tmp_path: Path) -> None:
    for left in (w.copy(tmp_path) for w in wrecks):
        with palaver.open(left.path) as store:
            session = store.sessions.get(left.session_id)
            exported = session.messages()
            assert json.loads(session.messages_json()) == exported
            assert store.verify() == []
        found = [(m["role"], comparable(m["parts"])) for m in exported]
        possible = [expected(left.turns, chunks) for chunks in left.turns[-1].possible]
        if left.turns[-1].id is None:
            possible.append(expected(left.turns[:-1], left.turns[-2].chunks if left.turns[1:] else []))
        assert found in possible
