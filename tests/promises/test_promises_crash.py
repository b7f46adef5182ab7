"""What a writer leaves that is killed at a random moment (rows 49, 54, 55, 63, 64, 70).

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

from ..tools.planting import broken_by
from ..tools.sql import one, query
from .support_saving import Told, Wreck, closed, comparable, last_usage, part_rows, shown, wreck

UNRESOLVED = "tool_state NOT IN ('output-available', 'output-error', 'output-denied')"


@pytest.fixture(scope="module", params=[6, pytest.param(60, marks=pytest.mark.long)], ids=lambda n: f"{n} kills")
def wrecks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Wreck]:
    """Stores whose writer was killed at random moments."""
    folder, seed = tmp_path_factory.mktemp("wrecks"), random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    return [wreck(folder / str(n), chance.randint(4, 150), chance.getrandbits(32)) for n in range(request.param)]


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


@broken_by("updated_at_is_left_alone")
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


# ---------------------------------------------------------------- what a client saw


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


# ---------------------------------------------------------------- tools


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
