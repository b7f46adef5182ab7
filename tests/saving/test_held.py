"""Chunks that a save policy holds back: they are part of the turn at once, and of the file when they are due."""

from __future__ import annotations

from typing import Any

import pytest

import palaver
from palaver.core.turn import response

from ..tools.chunks import delta, text
from ..tools.planting import broken_by
from ..tools.sql import query
from ..tools.waiting import together
from .support import CALL, ENDS, NEVER, RESULT, START, STEP_ENDS, Begin, stored, text_of, words

HELD = pytest.mark.parametrize("save_on", ["step", "turn"])


# ---------------------------------------------------------------- taken, and stored


@pytest.mark.parametrize(
    ("save_on", "expected"),
    [
        ("chunk", [(2, 2), (3, 3), (4, 4), (5, 5), (6, 6)]),
        ("step", [(2, 0), (3, 0), (4, 4), (5, 4), (6, 6)]),
        ("turn", [(2, 0), (3, 0), (4, 0), (5, 0), (6, 6)]),
    ],
)
def test_chunks_counts_what_was_taken_and_stored_what_is_on_disk(
    path: str, begin: Begin, save_on: str, expected: list[tuple[int, int]]
) -> None:
    _, turn = begin(save_on)
    seen = []
    for chunks in (START, [delta("hi")], [STEP_ENDS], [{"type": "start-step"}], [ENDS]):
        turn.append(chunks)
        seen.append((turn.chunks, turn.stored))
        assert len(stored(path)) == turn.stored
    assert seen == expected


@HELD
def test_the_turn_shows_what_is_held_and_the_file_does_not(path: str, begin: Begin, save_on: str) -> None:
    session, turn = begin(save_on)
    turn.append([*START, delta("hi"), CALL])
    assert [part["type"] for part in turn.message()["parts"]] == ["step-start", "text", "tool-run"]
    assert turn.message()["parts"][1]["text"] == "hi"
    assert stored(path) == [] and turn.message_id is None
    assert [message["role"] for message in session.messages()] == ["user"]
    with palaver.open(path) as other:
        assert [message["role"] for message in other.sessions.get(session.id).messages()] == ["user"]
        turn.flush()
        assert other.sessions.get(session.id).messages()[1]["parts"] == turn.message()["parts"]
    assert stored(path) == [*START, delta("hi"), CALL]


@HELD
def test_a_flush_with_nothing_held_writes_nothing(path: str, begin: Begin, save_on: str) -> None:
    _, turn = begin(save_on)
    before = query(path, "SELECT * FROM events ORDER BY seq")
    turn.flush()
    assert query(path, "SELECT * FROM events ORDER BY seq") == before
    turn.append(START)
    turn.flush()
    turn.flush()
    assert stored(path) == START


@pytest.mark.parametrize("path", [":memory:"])
@HELD
def test_a_store_in_memory_holds_back_and_flushes_the_same_way(begin: Begin, save_on: str) -> None:
    session, turn = begin(save_on)
    turn.append([*START, delta("hi")])
    assert (turn.chunks, turn.stored, len(session.messages())) == (3, 0, 1)
    turn.flush()
    assert (turn.chunks, turn.stored, text_of(session)) == (3, 3, "hi")


# ---------------------------------------------------------------- sent again


@HELD
@broken_by("held_chunks_are_not_compared")
def test_chunks_that_are_sent_again_are_not_doubled_whether_held_or_stored(
    path: str, begin: Begin, save_on: str
) -> None:
    session, turn = begin(save_on)
    sent = [*START, *words(6)]
    turn.append(sent[:4])
    turn.flush()
    turn.append(sent[4:6])
    for at in (0, 2, 4, 5, 6):
        turn.append(sent[at:6], at=at)
        assert (turn.chunks, turn.stored) == (6, 4)
    turn.append(sent[3:], at=3)  # stored, held and new
    assert (turn.chunks, turn.stored) == (8, 4)
    turn.seal()
    assert stored(path) == sent
    assert text_of(session) == "".join(f"word {n} " for n in range(6))


@HELD
@broken_by("held_chunks_are_not_compared")
def test_another_chunk_in_a_place_that_is_held_or_stored_is_refused(path: str, begin: Begin, save_on: str) -> None:
    _, turn = begin(save_on)
    sent = [*START, *words(4)]
    turn.append(sent[:4])
    turn.flush()
    turn.append(sent[4:])
    for at in range(2, 6):
        with pytest.raises(palaver.ChunkGap) as refused:
            turn.append([delta("something else")], at=at)
        assert (refused.value.at, refused.value.stored) == (at, 6)
    with pytest.raises(palaver.ChunkGap):
        turn.append([delta("far away")], at=7)
    turn.flush()
    assert stored(path) == sent


# ---------------------------------------------------------------- refused


@HELD
@pytest.mark.parametrize("bad", [delta("x", "never started"), {"type": "tool-output-available", "toolCallId": "no"}])
@broken_by("a_refused_append_leaves_what_came_before_it")
def test_a_chunk_that_does_not_fit_changes_nothing_wherever_it_stands(
    path: str, begin: Begin, save_on: str, bad: Any
) -> None:
    _, turn = begin(save_on)
    turn.append([*START, delta("stored")])
    turn.flush()
    turn.append([delta(" and held"), CALL])
    before = turn.message()
    for chunks in ([bad], [delta("no"), RESULT, bad], [bad, delta("no")], [delta("no"), bad, STEP_ENDS, ENDS]):
        with pytest.raises(palaver.PalaverError):
            turn.append(chunks)
        assert (turn.chunks, turn.stored, turn.message()) == (5, 3, before)
    turn.append([RESULT])
    turn.seal()
    assert stored(path) == [*START, delta("stored"), delta(" and held"), CALL, RESULT]


def test_what_is_no_policy_is_refused(path: str) -> None:
    for wrong in ({"save_on": "never"}, {"save_on": None}, {"save_on": "step", "save_buffer_ms": -1}):
        with pytest.raises(palaver.BadValue):
            palaver.open(path, **wrong)
    for name in ("save_buffer_ms", "save_buffer_size", "trim_after", "recover_every"):
        for value in (-1, float("nan"), "1", True):
            with pytest.raises(palaver.BadValue):
                palaver.open(path, **{name: value})


# ---------------------------------------------------------------- before anything else


@pytest.mark.parametrize(
    ("verb", "given", "kind"),
    [
        ("usage", {"input": 1}, "usage"),
        ("resolve", {"tool_call_id": "c", "output": 2}, "resolve"),
        ("wait", {}, "wait"),
    ],
)
@HELD
def test_what_is_held_comes_before_what_is_called(
    begin: Begin, save_on: str, verb: str, given: dict[str, Any], kind: str
) -> None:
    session, turn = begin(save_on)
    turn.append([*START, CALL])
    getattr(turn, verb)(**given)
    assert [event.kind for event in session.events()] == ["create", "begin", "chunk", "chunk", "chunk", kind]
    assert turn.stored == 3


@HELD
def test_usage_that_is_held_is_counted_before_usage_that_is_told(path: str, begin: Begin, save_on: str) -> None:
    _, turn = begin(save_on)
    turn.append([*START, {"type": "message-metadata", "messageMetadata": {"usage": {"input": 5}}}])
    with pytest.raises(palaver.UsageConflict):
        turn.usage(input=7)
    assert query(path, "SELECT prompt_tokens FROM chat_sessions") == [(5,)]


def left_by_seal(turn: palaver.Turn) -> None:
    turn.seal()


def left_by_block(turn: palaver.Turn) -> None:
    with turn:
        pass


def left_by_exception(turn: palaver.Turn) -> None:
    with pytest.raises(ZeroDivisionError), turn:
        raise ZeroDivisionError


def left_open(turn: palaver.Turn) -> None:
    """The store is closed around it."""


@HELD
@pytest.mark.parametrize("leave", [left_by_seal, left_by_block, left_by_exception, left_open])
@broken_by("close_drops_what_is_held")
def test_however_a_turn_ends_what_it_held_is_kept(path: str, save_on: str, leave: Any) -> None:
    with palaver.open(path, save_on=save_on, trim_after=NEVER) as store:
        session = store.sessions.create("a")
        turn = session.turn("hello")
        turn.append([*START, delta("hi"), CALL])
        leave(turn)
    assert stored(path) == [*START, delta("hi"), CALL]
    with palaver.open(path) as store:
        assert text_of(store.sessions.get(session.id)) == "hi"
        assert store.verify() == []


def test_of_several_turns_that_a_store_leaves_open_the_first_lands_and_the_others_are_strays(path: str) -> None:
    with palaver.open(path, save_on="turn") as store:
        session = store.sessions.create("a")
        turns = [session.turn(f"question {n}") for n in range(3)]
        for number, turn in enumerate(turns):
            turn.append([*START, delta(f"answer {number}")])
    with palaver.open(path) as store:
        session = store.sessions.get(session.id)
        assert text_of(session) == "answer 0"
        assert {stray.id for stray in session.strays()} == {turns[1].id, turns[2].id}
        assert [text_of(session.fork(at=turn.id)) for turn in turns] == ["answer 0", "answer 1", "answer 2"]


# ---------------------------------------------------------------- somebody else


@HELD
def test_held_chunks_of_a_turn_that_somebody_else_sealed_are_refused(path: str, begin: Begin, save_on: str) -> None:
    session, turn = begin(save_on)
    turn.append([*START, delta("saved")])
    turn.flush()
    turn.append([delta(" and held")])
    with palaver.open(path) as other:
        other.sessions.get(session.id).delete()
    with pytest.raises(palaver.TurnSealed):
        turn.flush()
    for call in (turn.seal, turn.wait, lambda: turn.write(delta("more")), lambda: turn.usage(input=1)):
        with pytest.raises(palaver.TurnSealed):
            call()
    assert turn.status == "aborted"
    assert stored(path) == [*START, delta("saved")]


@pytest.mark.parametrize("save_on", ["chunk", "step", "turn"])
def test_a_result_that_comes_too_late_is_kept_although_chunks_are_held(path: str, begin: Begin, save_on: str) -> None:
    session, turn = begin(save_on)
    turn.append([*START, CALL])
    turn.flush()
    turn.append([delta("held")])
    with palaver.open(path) as other:
        other.sessions.get(session.id).delete()
        other.sessions.get(session.id, deleted=True).undelete()
    with pytest.raises(palaver.TurnSealed) as sealed:
        turn.resolve("c", output={"late": True})
    assert sealed.value.late is not None
    (kept,) = session.messages_of(sealed.value.late)[1:]
    assert '"late":true' in kept.parts[2].replace(" ", "")


@HELD
def test_two_threads_write_to_one_turn_while_the_clock_flushes_it(path: str, begin: Begin, save_on: str) -> None:
    session, turn = begin(save_on, save_buffer_ms=1)
    turn.append([{"type": "start-step"}, {"type": "text-start", "id": "a"}, {"type": "text-start", "id": "b"}])

    def stream(id: str) -> None:
        for number in range(150):
            turn.write(delta(f"{id}{number} ", id))

    assert together(lambda: stream("a"), lambda: stream("b")) == [None, None]
    assert turn.chunks == 303
    turn.seal()
    assert len(stored(path)) == 303
    texts = [part["text"] for part in session.messages()[1]["parts"][1:]]
    assert texts == ["".join(f"{id}{n} " for n in range(150)) for id in "ab"]


@HELD
def test_two_turns_of_a_session_hold_back_side_by_side(begin: Begin, save_on: str) -> None:
    session, first = begin(save_on)
    second = session.turn("and you?")
    for number in range(5):
        first.append(START if number == 0 else [delta(f"a{number}")])
        second.append(START if number == 0 else [delta(f"b{number}")])
    second.flush()
    first.flush()
    first.seal()
    with pytest.raises(palaver.HeadConflict):
        second.seal()
    assert text_of(session) == "a1a2a3a4"
    assert text_of(session.fork(at=second.id)) == "b1b2b3b4"
    numbers = [event.seq for event in session.events()]
    assert numbers == sorted(set(numbers))


# ---------------------------------------------------------------- rows of parts


def test_however_many_parts_grow_at_once_their_rows_are_not_written_with_each_delta(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, write_part = list[int](), response.write_part

    def noted(tx: Any, turn: Any, index: int) -> str | None:
        written.append(index)
        return write_part(tx, turn, index)

    monkeypatch.setattr(response, "write_part", noted)
    with palaver.open(path, save_buffer_ms=NEVER) as store, store.sessions.create("a").turn("q") as turn:
        turn.append([chunk for number in range(200) for chunk in text("", f"t{number}", ends=False)])
        written.clear()
        for _ in range(3):
            for number in range(200):
                turn.write(delta("word ", f"t{number}"))
        assert written == []


def test_nothing_is_remembered_of_parts_that_are_over(path: str) -> None:
    with palaver.open(path) as store, store.sessions.create("a").turn("q") as turn:
        for number in range(50):
            turn.append(text("words", f"t{number}"))
        turn.append(text("still", "open", ends=False))
        assert list(turn._recorder._writer.rows) == [50]
