"""When rows are made and how they change while a turn streams (rows 48, 50, 52, 53, 56, 67, 68, 69)."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

import palaver

from ..tools.chunks import delta
from ..tools.planting import broken_by
from ..tools.sql import execute, one, query
from .support_saving import Child, part_rows

TEXT = [{"type": "start-step"}, {"type": "text-start", "id": "t"}]
ANSWER = "\"index\" = 1 AND type = 'text'"


# ---------------------------------------------------------------- the assistant's row


@pytest.mark.parametrize("first", [{"type": "start", "messageId": "m"}, {"type": "start-step"}])
@broken_by("assistant_row_is_made_at_begin")
def test_promise_048_the_assistant_row_is_made_with_the_first_chunk(
    store: palaver.Store, first: dict[str, Any]
) -> None:
    count = "SELECT count(*) FROM chat_messages WHERE role = 'assistant'"
    turn = store.sessions.create("a").turn("hello")
    assert one(store.path, count) == 0
    turn.write(first)
    assert one(store.path, count) == 1
    turn.append([*TEXT, delta("hi")])
    turn.seal()
    assert one(store.path, count) == 1


def test_promise_048_a_turn_without_a_chunk_never_gets_an_assistant_row(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    session.turn("hello").seal()
    assert query(store.path, "SELECT role FROM chat_messages") == [("user",)]
    assert [message["role"] for message in session.messages()] == ["user"]


# ---------------------------------------------------------------- rows that grow

TOOL_LIFE = [
    ({"type": "tool-input-start", "toolCallId": "c", "toolName": "run"}, "input-streaming"),
    ({"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": '{"a":'}, "input-streaming"),
    ({"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": "1}"}, "input-streaming"),
    ({"type": "tool-input-available", "toolCallId": "c", "toolName": "run", "input": {"a": 1}}, "input-available"),
    ({"type": "tool-output-available", "toolCallId": "c", "output": 1, "preliminary": True}, "output-available"),
    ({"type": "tool-output-available", "toolCallId": "c", "output": 2}, "output-available"),
]


@broken_by("every_update_makes_a_row")
def test_promise_050_a_tool_call_progresses_on_a_single_row(store: palaver.Store) -> None:
    turn = store.sessions.create("a").turn("hello")
    rows = []
    for chunk, state in TOOL_LIFE:
        turn.write(chunk)
        rows.append(query(store.path, "SELECT id FROM chat_parts WHERE tool_call_id = 'c'"))
        assert one(store.path, "SELECT tool_state FROM chat_parts WHERE tool_call_id = 'c'") == state
    turn.seal()
    rows.append(query(store.path, "SELECT id FROM chat_parts WHERE tool_call_id = 'c'"))
    assert len(rows[0]) == 1 and all(row == rows[0] for row in rows)


@broken_by("every_update_makes_a_row")
def test_promise_050_text_grows_in_place_and_its_chunks_are_only_added_to(path: str) -> None:
    with palaver.open(path, save_buffer_ms=0) as store:
        turn = store.sessions.create("a").turn("hello")
        turn.append(TEXT)
        chunks, ids, words = [], set(), [f"word {n} " for n in range(20)]
        for count, word in enumerate(words, 1):
            turn.write(delta(word))
            ((part, text),) = query(path, f"SELECT id, data_json ->> 'text' FROM chat_parts WHERE {ANSWER}")
            ids.add(part)
            assert text == "".join(words[:count])
            before, chunks = chunks, query(path, "SELECT * FROM events WHERE kind = 'chunk' ORDER BY seq")
            assert chunks[: len(before)] == before and len(chunks) == len(TEXT) + count
    assert len(ids) == 1


def everything(path: str) -> list[tuple[Any, ...]]:
    return query(path, "SELECT * FROM chat_parts ORDER BY id") + query(
        path, "SELECT * FROM turn_entries ORDER BY turn_id, seq"
    )


def test_promise_050_once_sealed_nothing_changes_a_part(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    with session.turn("hello") as turn:
        turn.append([*TEXT, delta("hi"), *(chunk for chunk, _ in TOOL_LIFE)])
    sealed = everything(store.path)
    with pytest.raises(palaver.TurnSealed):
        turn.write(delta("more"))
    with pytest.raises(palaver.TurnSealed):
        turn.resolve("c", output=3)
    session.commit("next")
    session.rewind(to=turn)
    session.undo()
    session.fork(at=turn)
    session.regenerate().abort()
    assert [row for row in everything(store.path) if row in sealed] == sealed


@broken_by("leaves_cover_nothing")
def test_promise_050_the_digest_proves_what_a_sealed_part_holds(path: str) -> None:
    with palaver.open(path) as store, store.sessions.create("a").turn("hello") as turn:
        turn.append([*TEXT, delta("hi")])
    part = one(path, f"SELECT id FROM chat_parts WHERE {ANSWER}")
    execute(path, "UPDATE chat_parts SET data_json = replace(data_json, 'hi', 'ho') WHERE id = ?", part)
    with palaver.open(path) as store:
        assert [(problem.rule, problem.where) for problem in store.verify()] == [("altered", part)]


# ---------------------------------------------------------------- results and aborts


def test_promise_052_a_result_fills_output_and_a_failure_fills_error_text(store: palaver.Store) -> None:
    turn = store.sessions.create("a").turn("hello")
    for call in ("good", "bad"):
        turn.write({"type": "tool-input-available", "toolCallId": call, "toolName": "run", "input": {"a": 1}})
    turn.write({"type": "tool-output-available", "toolCallId": "good", "output": {"lines": [1, 2]}})
    turn.write({"type": "tool-output-error", "toolCallId": "bad", "errorText": "no such file"})
    assert turn.message_id is not None
    base = {"type": "tool-run", "input": {"a": 1}}
    assert part_rows(store.path, turn.message_id) == [
        {**base, "toolCallId": "good", "state": "output-available", "output": {"lines": [1, 2]}},
        {**base, "toolCallId": "bad", "state": "output-error", "errorText": "no such file"},
    ]
    assert query(store.path, "SELECT tool_state FROM chat_parts WHERE tool_call_id IS NOT NULL") == [
        ("output-available",),
        ("output-error",),
    ]


def aborted_by_call(session: palaver.Session) -> None:
    turn = session.turn("hello")
    turn.append([*TEXT, delta("half a wo"), TOOL_LIFE[0][0]])
    turn.abort("the user pressed stop")


def aborted_by_chunk(session: palaver.Session) -> None:
    with session.turn("hello") as turn:
        turn.append([*TEXT, delta("half a wo"), TOOL_LIFE[0][0], {"type": "abort"}])


def aborted_by_exception(session: palaver.Session) -> None:
    with pytest.raises(KeyboardInterrupt), session.turn("hello") as turn:
        turn.append([*TEXT, delta("half a wo"), TOOL_LIFE[0][0]])
        raise KeyboardInterrupt


@pytest.mark.parametrize("abort", [aborted_by_call, aborted_by_chunk, aborted_by_exception])
@broken_by("open_tools_stay_open")
def test_promise_053_abort_finalizes_the_message_in_flight(store: palaver.Store, abort: Any) -> None:
    session = store.sessions.create("a")
    abort(session)
    assert query(store.path, "SELECT status, owner, sealed_at > 0, length(digest) FROM turns") == [
        ("aborted", None, 1, 32)
    ]
    _, text, tool = part_rows(store.path, session.messages()[1]["id"])
    assert text == {"type": "text", "text": "half a wo", "state": "done"}
    assert (tool["state"], tool["errorText"]) == ("output-error", "interrupted")
    assert store.verify() == []


# ---------------------------------------------------------------- a second client


def pieces(count: int) -> tuple[list[str], dict[str, int]]:
    """So many pieces of a text, and how many of them each of the texts holds that a reader may see."""
    made = [f"piece {n} – 漢字\n" for n in range(count)]
    return made, {"".join(made[:n]): n for n in range(count + 1)}


ROW = f"SELECT data_json ->> 'text' FROM chat_parts WHERE {ANSWER}"


@broken_by("readers_trust_the_part_row", "chunks_are_acknowledged_early")
def test_promise_056_a_second_client_reads_a_chunk_as_soon_as_it_is_acknowledged(path: str) -> None:
    given, texts = pieces(40)
    with Child("stream", path, pieces=given, in_step=True) as writer, palaver.open(path) as client:
        writer.read_done(1)
        session = client.sessions.get(writer.lines[0]["session"])
        for count in range(1, len(given) + 1):
            writer.tell()
            writer.read_done(1)
            assert texts[session.messages()[1]["parts"][1]["text"]] == count
            assert one(path, ROW) in texts
        writer.finish()
    assert one(path, ROW) == "".join(given)


@pytest.mark.parametrize("count", [60, pytest.param(3_000, marks=pytest.mark.long)])
def test_promise_056_a_second_client_of_a_running_writer_never_reads_a_torn_part(path: str, count: int) -> None:
    given, texts = pieces(count)
    with Child("stream", path, pieces=given, in_step=False) as writer, palaver.open(path) as client:
        writer.read_done(1)
        session = client.sessions.get(writer.lines[0]["session"])
        for acknowledged in range(count):
            assert texts[session.messages()[1]["parts"][1]["text"]] >= acknowledged
            assert one(path, ROW) in texts
            writer.read_done(1)
        writer.finish()
    assert one(path, ROW) == "".join(given)


# ---------------------------------------------------------------- metadata


TRIGGER = {
    "source": "schedule",
    "fired_at": 1_760_000_000_123,
    "schedule_id": "nightly",
    "delivery_id": "d-1",
    "headers": {"X-Hub": ["a", "b"], "naïve": None},
    "auth_subject": "svc:cron",
    "not_yet_invented": {"deep": [1.5, True]},
}
AGAIN = TRIGGER | {"delivery_id": "d-2"}


def test_promise_068_the_trigger_envelope_of_a_non_human_turn_is_kept(path: str) -> None:
    with palaver.open(path) as store:
        session = store.sessions.create("a")
        with session.turn("wake up", trigger=TRIGGER) as turn:
            turn.append([*TEXT, delta("up")])
        session.commit("again", trigger=AGAIN)
        session.commit("a person")
    kept = query(path, "SELECT role, metadata_json -> 'trigger' FROM chat_messages ORDER BY created_at")
    assert [role for role, _ in kept] == ["user", "assistant", "user", "user"]
    assert [trigger and json.loads(trigger) for _, trigger in kept] == [TRIGGER, None, AGAIN, None]
    with palaver.open(path) as store:
        shown = [m.get("metadata", {}).get("trigger") for m in store.sessions.get(session.id).messages()]
    assert shown == [TRIGGER, None, AGAIN, None]


PROMPTS = ["You are kind. " * 200, "Du bist höflich, naïve 漢字 \U0001f4a9\r\n\tend ", ""]


@broken_by("prompt_digest_covers_half")
def test_promise_069_a_prompt_is_named_by_its_sha256_and_kept_once(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    for prompt in PROMPTS * 3:
        with session.turn("hello", system_prompt=prompt) as turn:
            turn.write({"type": "start-step"})
    digests = [sha256(prompt.encode()).hexdigest() for prompt in PROMPTS]
    named = "SELECT metadata_json ->> 'system_prompt_digest' FROM chat_messages WHERE role = ? ORDER BY created_at"
    assert query(store.path, named, "assistant") == [(digest,) for digest in digests * 3]
    assert set(query(store.path, named, "user")) == {(None,)}
    assert set(query(store.path, "SELECT digest, body FROM system_prompts")) == set(zip(digests, PROMPTS, strict=True))
    assert [store.system_prompt(digest) for digest in digests] == PROMPTS


def test_promise_069_a_changed_prompt_does_not_fit_its_name(store: palaver.Store) -> None:
    store.sessions.create("a").turn("hello", system_prompt="Be kind.").seal()
    execute(store.path, "UPDATE system_prompts SET body = 'Be rude.'")
    assert [problem.rule for problem in store.verify()] == ["prompt"]
