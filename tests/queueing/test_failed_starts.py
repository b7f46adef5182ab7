"""A start that fails before anything came gives the message back, once: after an exception, a close, a kill."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import palaver
from palaver import MessageFired, Session

from .support import (
    ModelIsDown,
    answer,
    claimed_and_killed,
    fail,
    fire,
    refusal,
    said,
    seen,
    stamps,
    waiting,
)


def by_exception(path: str, session_id: str) -> None:
    with palaver.open(path) as store:
        fail(store.sessions.get(session_id))


def by_close(path: str, session_id: str) -> None:
    store = palaver.open(path)
    assert store.sessions.get(session_id).claim() is not None
    store.close()


def by_kill(path: str, session_id: str) -> None:
    claimed_and_killed(path, session_id)


WAYS = [by_exception, by_close, by_kill]


@pytest.fixture
def name(path: str) -> str:
    """A session with m1 and m2 in its line; nobody has the store open."""
    with palaver.open(path) as store:
        session = store.sessions.create("a")
        session.enqueue("one", id="m1")
        session.enqueue("two", id="m2")
        return session.id


@pytest.mark.parametrize("way", WAYS)
def test_a_start_that_failed_gives_the_message_back_to_its_place(
    path: str, name: str, way: Callable[[str, str], None]
) -> None:
    with palaver.open(path) as store:
        before = store.sessions.get(name).queue()
    way(path, name)
    with palaver.open(path) as store:
        session = store.sessions.get(name)
        assert session.queue() == before
        assert session.messages() == [] == seen(path, name)
        assert stamps(path, name)["one"] == (before[0].queued_at, None)
        assert session.strays() == [] and session.revision == 0
        assert store.verify() == []
        fire(session)
        assert said(session.messages()) == ["one", "done"]


PAIRS = [
    (by_exception, by_exception),
    (by_exception, by_kill),
    (by_close, by_close),
    (by_kill, by_close),
    (by_kill, by_kill),
]


@pytest.mark.parametrize(("first", "way"), PAIRS)
def test_the_second_time_it_is_not_given_back(
    path: str, name: str, first: Callable[[str, str], None], way: Callable[[str, str], None]
) -> None:
    first(path, name)
    way(path, name)
    with palaver.open(path) as store:
        session = store.sessions.get(name)
        assert waiting(session) == ["m2"]
        assert said(session.messages()) == ["one"] == seen(path, name)
        assert [turn.status for turn in session.path()] == ["aborted"]
        refusal(MessageFired, session.claim, "m1")
        assert store.verify() == []


@pytest.mark.parametrize("chunk", [{"type": "start"}, {"type": "data-note", "data": 1, "transient": True}])
def test_after_any_chunk_it_is_fired(store: palaver.Store, chunk: dict[str, object]) -> None:
    session = store.sessions.create("a")
    session.enqueue("one", id="m1")
    turn = session.claim()
    assert turn is not None
    with pytest.raises(ModelIsDown), turn:
        turn.write(chunk)
        raise ModelIsDown
    assert waiting(session) == []
    assert [turn.status for turn in session.path()] == ["aborted"]
    assert store.verify() == []


def test_after_a_chunk_and_a_kill_it_is_fired(path: str, name: str) -> None:
    claimed_and_killed(path, name, chunks=2)
    with palaver.open(path) as store:
        session = store.sessions.get(name)
        assert waiting(session) == ["m2"]
        assert [message["role"] for message in session.messages()] == ["user", "assistant"]
        assert store.verify() == []


@pytest.mark.parametrize("policy", ["step", "turn"])
def test_chunks_that_were_only_held_back_count_while_their_writer_lives(path: str, policy: str) -> None:
    with palaver.open(path, save_on=policy) as store:
        session = store.sessions.create("a")
        session.enqueue("one", id="m1")
        turn = session.claim()
        assert turn is not None
        with pytest.raises(ModelIsDown), turn:
            turn.write({"type": "start"})
            turn.write({"type": "text-start", "id": "t"})
            raise ModelIsDown
        assert waiting(session) == []
        assert store.verify() == []


def test_a_turn_that_gave_its_message_back_is_over(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    session.enqueue("one", id="m1")
    turn = session.claim()
    assert turn is not None and turn.give_back() is True
    refusal(palaver.TurnSealed, turn.write, {"type": "start"})
    refusal(palaver.TurnSealed, turn.seal)
    assert turn.give_back() is False
    assert waiting(session) == ["m1"]
    fire(session)
    assert said(session.messages()) == ["one", "done"]
    assert store.verify() == []


def test_the_first_claimer_cannot_write_into_the_turn_of_the_second(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    session.enqueue("one", id="m1")
    first = session.claim()
    assert first is not None and first.give_back()
    second = session.claim()
    assert second is not None and second.id == first.id
    refusal(palaver.TurnSealed, first.write, {"type": "start"})
    refusal(palaver.TurnSealed, first.abort)
    with second:
        answer(second, "mine")
    assert said(session.messages()) == ["one", "mine"]
    assert store.verify() == []


def test_only_queued_messages_are_given_back(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    with pytest.raises(ModelIsDown), session.turn("said aloud") as turn:
        raise ModelIsDown
    assert turn.status == "aborted"
    assert waiting(session) == [] and said(session.messages()) == ["said aloud"]


def test_one_that_was_overtaken_waits_again_too(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("a")
    queued = session.enqueue("slow", id="m1")
    slow, quick = session.claim(), session.turn("quick")
    assert slow is not None
    answer(quick, "won")
    quick.seal()
    with pytest.raises(ModelIsDown), slow:
        raise ModelIsDown
    assert stamps(path, session.id)["slow"] == (queued.queued_at, None)
    fire(session)
    assert said(session.messages()) == ["quick", "won", "slow", "done"] == seen(path, session.id)
    assert store.verify() == []


def test_usage_of_a_failed_start_is_counted_once(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    session.enqueue("one", id="m1")
    turn = session.claim()
    assert turn is not None
    with pytest.raises(ModelIsDown), turn:
        turn.usage(input=5, output=1)
        raise ModelIsDown
    assert session.info.usage.input == 5
    assert store.verify() == []


# ---------------------------------------------------------------- while another store is open


@pytest.fixture
def living(path: str, name: str) -> Session:  # type: ignore[misc]
    """The session in a store that was open all the while that another process claimed m1 and died."""
    with palaver.open(path) as store:
        session = store.sessions.get(name)
        claimed_and_killed(path, name)
        yield session  # type: ignore[misc]
        assert store.verify() == []


def test_what_a_dead_process_claimed_is_claimed_again_first(living: Session) -> None:
    fire(living)
    assert said(living.messages()) == ["one", "done"]
    assert waiting(living) == ["m2"]


def test_the_last_one_in_line_is_not_forgotten_when_its_claimer_dies(path: str, living: Session) -> None:
    living.cancel("m2")
    fire(living)
    assert said(living.messages()) == ["one", "done"]
    assert living.claim() is None


def test_what_a_dead_process_claimed_is_claimed_by_its_name(living: Session) -> None:
    fire(living, id="m1")
    assert said(living.messages()) == ["one", "done"]


def test_what_a_dead_process_claimed_can_be_taken_back(living: Session) -> None:
    assert living.cancel("m1") is True
    assert waiting(living) == ["m2"]


def test_expected_is_compared_after_the_dead_are_seen_to(path: str, name: str) -> None:
    """As with every other verb that begins: a turn that somebody began, and died in, is told, and not slipped in."""
    with palaver.open(path) as store:
        session = store.sessions.get(name)
        claimed_and_killed(path, name, chunks=2)
        told = refusal(palaver.HeadConflict, session.claim, expected=0)
        assert isinstance(told, palaver.HeadConflict) and told.actual == 1
        assert said(session.messages()) == ["one", ""] and waiting(session) == ["m2"]
        turn = session.claim(expected=1)
        assert turn is not None
        turn.seal()
        assert said(session.messages()) == ["one", "", "two"]
        assert store.verify() == []
