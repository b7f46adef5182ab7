"""While a turn streams, the judge sees what we see: chunk by chunk without a buffer, a prefix of it with one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import palaver

from . import judge
from .support import answer, assert_agrees, assert_prefix, say, stream, texts

MIXED: list[dict[str, Any]] = [
    {"type": "start", "messageId": "client-7", "messageMetadata": {"topic": "owls"}},
    {"type": "start-step"},
    {"type": "reasoning-start", "id": "r"},
    {"type": "reasoning-delta", "id": "r", "delta": "let me "},
    {"type": "reasoning-delta", "id": "r", "delta": "look"},
    {"type": "reasoning-end", "id": "r"},
    {"type": "tool-input-start", "toolCallId": "c1", "toolName": "count"},
    {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": '{"kind": "ow'},
    {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": 'ls"}'},
    {"type": "tool-input-available", "toolCallId": "c1", "toolName": "count", "input": {"kind": "owls"}},
    {"type": "tool-output-available", "toolCallId": "c1", "output": {"n": 12}},
    {"type": "finish-step"},
    {"type": "start-step"},
    {"type": "text-start", "id": "t"},
    {"type": "text-delta", "id": "t", "delta": "Zwölf "},
    {"type": "data-chart", "id": "d", "data": {"bars": [1, 2]}},
    {"type": "text-delta", "id": "t", "delta": "🦉 owls."},
    {"type": "data-chart", "id": "d", "data": {"bars": [1, 2, 3]}},
    {"type": "text-end", "id": "t"},
    {"type": "source-url", "sourceId": "s", "url": "https://example.org"},
    {"type": "source-document", "sourceId": "s2", "mediaType": "text/plain", "title": "Owls"},
    {"type": "file", "mediaType": "text/plain", "url": "data:text/plain,hoo"},
    {"type": "message-metadata", "messageMetadata": {"mood": "wise"}},
    {"type": "finish-step"},
    {"type": "finish", "messageMetadata": {"usage": {"input": 9, "output": 4}}},
]


@pytest.fixture
def direct(path: str) -> Iterator[palaver.Store]:
    """A store whose part rows are current after every chunk."""
    with palaver.open(path, save_buffer_ms=0) as opened:
        yield opened


def test_the_judge_reads_every_chunk_as_soon_as_it_is_written(direct: palaver.Store) -> None:
    session = direct.sessions.create("coder")
    turn = session.turn("How many owls?")
    assert_agrees(direct)
    for chunk in MIXED:
        turn.write(chunk)
        assert_agrees(direct)
    turn.seal()
    assert_agrees(direct)
    assert texts(session.messages()) == ["How many owls?", "Zwölf 🦉 owls."]


def test_the_judge_reads_every_chunk_of_two_turns_that_stream_side_by_side(direct: palaver.Store) -> None:
    session = direct.sessions.create("coder")
    one, two = session.turn("first?"), session.turn("second?")
    for left, right in zip(answer("red green blue"), answer("cyan magenta yellow"), strict=True):
        one.write(left)
        assert_agrees(direct)
        two.write(right)
        assert_agrees(direct)
    two.seal()
    assert_agrees(direct)
    with pytest.raises(palaver.HeadConflict):
        one.seal()
    assert texts(assert_agrees(direct).transcripts[session.id]) == ["second?", "cyan magenta yellow"]


def test_with_a_buffer_the_judge_reads_a_prefix_and_all_of_it_at_the_end_of_a_step(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    turn = session.turn("How many owls?")
    for chunk in MIXED:
        turn.write(chunk)
        assert_prefix(judge.look(store.path).transcripts[session.id], session.messages())
        if chunk["type"] in ("finish-step", "tool-output-available"):
            assert_agrees(store)
    turn.seal()
    assert_agrees(store)


def test_with_an_endless_buffer_the_judge_still_reads_a_prefix(path: str) -> None:
    with palaver.open(path, save_buffer_ms=3_600_000) as store:
        session = store.sessions.create("coder")
        turn = session.turn("Tell me a long story")
        for chunk in answer("word " * 300)[:-3]:
            turn.write(chunk)
        rebuilt = judge.look(path).transcripts[session.id]
        assert_prefix(rebuilt, session.messages())
        assert texts(rebuilt)[1] != texts(session.messages())[1]
        turn.seal()
        assert_agrees(store)


def test_no_promise_is_broken_between_any_two_chunks_with_a_buffer(store: palaver.Store) -> None:
    turn = store.sessions.create("coder").turn("How many owls?")
    for chunk in MIXED:
        turn.write(chunk)
        assert judge.look(store.path).violations == []


def test_the_user_is_on_disk_before_the_first_chunk(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    session.turn("Are you there?")
    assert texts(judge.look(store.path).transcripts[session.id]) == ["Are you there?"]


def test_chunks_given_at_once_read_the_same(direct: palaver.Store) -> None:
    session = direct.sessions.create("coder")
    with session.turn("How many owls?") as turn:
        turn.append(MIXED[:9])
        assert_agrees(direct)
        turn.append(MIXED[9:])
        assert_agrees(direct)


@pytest.mark.parametrize("cut", range(1, len(MIXED), 4))
def test_an_aborted_turn_reads_the_same_wherever_it_was_cut(store: palaver.Store, cut: int) -> None:
    session = store.sessions.create("coder")
    turn = session.turn("How many owls?")
    for chunk in MIXED[:cut]:
        turn.write(chunk)
    turn.abort()
    assert len(session.messages()) == 2
    assert_agrees(store)


def test_a_turn_that_ends_in_an_exception_reads_the_same(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    with pytest.raises(ZeroDivisionError), session.turn("How many owls?") as turn:
        for chunk in MIXED[:8]:
            turn.write(chunk)
        raise ZeroDivisionError
    assert_agrees(store)


def test_a_turn_without_an_answer_reads_the_same(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    session.turn("Nobody answers").seal()
    assert texts(assert_agrees(store).transcripts[session.id]) == ["Nobody answers"]


def test_usage_reads_the_same_before_the_first_chunk_and_after(direct: palaver.Store) -> None:
    session = direct.sessions.create("coder")
    with session.turn("How much?") as turn:
        turn.usage(input=7)
        assert_agrees(direct)
        stream(turn, "that much")
        turn.usage(output=3, cache_read=2)
        assert_agrees(direct)
    assert_agrees(direct)
    assert session.info.total_tokens == 12


def test_usage_of_a_turn_that_never_answered_breaks_no_sum(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    with session.turn("How much?") as turn:
        turn.usage(input=7)
    assert_agrees(store)


def test_a_whole_turn_committed_at_once_reads_the_same(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    usage = {"input": 3, "output": 4, "reasoning": 0, "cache_read": 1, "cache_write": 0}
    reply = {"role": "assistant", "metadata": {"usage": usage}, "parts": [{"type": "text", "text": "Yes."}]}
    session.commit([{"role": "system", "content": "Be brief."}, {"id": "q-1", "role": "user", "content": "Ok?"}, reply])
    assert_agrees(store)
    assert session.info.total_tokens == 8


def test_several_sessions_read_the_same_side_by_side(store: palaver.Store) -> None:
    sessions = [store.sessions.create("coder") for _ in range(3)]
    for round_ in range(2):
        for number, session in enumerate(sessions):
            say(session, f"question {round_}.{number}", f"answer {round_}.{number}")
    found = assert_agrees(store).transcripts
    assert [texts(found[s.id])[-1] for s in sessions] == ["answer 1.0", "answer 1.1", "answer 1.2"]


def test_the_judge_lists_what_we_list_from_one_table(store: palaver.Store) -> None:
    sessions = [store.sessions.create("coder") for _ in range(4)]
    for session in sessions:
        say(session, "hello", "hi")
    sessions[1].archive()
    sessions[2].delete()
    with judge.opened(store.path) as db:
        assert judge.listing(db) == [(info.id, info.total_tokens) for info in store.sessions]
