"""A line in the life of a session: archived, deleted, brought back, and carried to another store."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import palaver
from palaver import MessageCancelled, MessageFired, SessionArchived, SessionDeleted, TriggerFired, exports

from .support import answer, everything, fail, fire, refusal, said, seen, stamps, talk, waiting


@pytest.fixture
def session(store: palaver.Store) -> palaver.Session:
    found = store.sessions.create("a")
    talk(found, "first", "yes")
    found.enqueue("one", id="m1")
    found.enqueue("two", id="m2")
    return found


def test_an_archived_line_can_be_read_and_not_changed(session: palaver.Session, path: str) -> None:
    session.archive()
    before = everything(path)
    assert waiting(session) == ["m1", "m2"]
    assert session.enqueue("one", id="m1") == session.queue()[0]  # it was sent before: nothing is to be done
    refusal(SessionArchived, session.enqueue, "three")
    refusal(SessionArchived, session.claim)
    refusal(SessionArchived, session.claim, "m2")
    refusal(SessionArchived, session.cancel, "m2")
    assert everything(path) == before


def test_an_archived_session_without_a_line_is_not_claimed_from_either(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    session.archive()
    refusal(SessionArchived, session.claim)


def test_the_line_goes_on_after_unarchive(session: palaver.Session, store: palaver.Store) -> None:
    session.archive()
    session.unarchive()
    fire(session)
    fire(session)
    assert said(session.messages()) == ["first", "yes", "one", "done", "two", "done"]
    assert store.verify() == []


def test_what_was_claimed_before_an_archive_may_finish(session: palaver.Session, store: palaver.Store) -> None:
    turn = session.claim()
    assert turn is not None
    session.archive()
    with turn:
        answer(turn, "in time")
    assert said(session.messages()) == ["first", "yes", "one", "in time"]
    assert store.verify() == []


def test_a_start_that_fails_in_an_archive_gives_its_message_back(
    session: palaver.Session, store: palaver.Store
) -> None:
    turn = session.claim()
    assert turn is not None
    session.archive()
    assert turn.give_back() is True
    assert waiting(session) == ["m1", "m2"]
    assert store.verify() == []


def test_deleting_a_session_takes_its_line_back(session: palaver.Session, store: palaver.Store, path: str) -> None:
    session.delete()
    assert waiting(session) == []
    assert all(hidden is not None and queued is None for queued, hidden in stamps(path, session.id).values())
    refusal(SessionDeleted, session.enqueue, "three")
    refusal(SessionDeleted, session.claim)
    assert store.verify() == []


def test_a_deleted_session_comes_back_without_its_line(
    session: palaver.Session, store: palaver.Store, path: str
) -> None:
    session.delete()
    session.undelete()
    assert waiting(session) == [] and session.claim() is None
    refusal(MessageCancelled, session.claim, "m1")
    assert session.cancel("m2") is False
    assert said(session.messages()) == ["first", "yes"] == seen(path, session.id)
    session.enqueue("three", id="m3")
    fire(session)
    assert said(session.messages()) == ["first", "yes", "three", "done"]
    assert store.verify() == []


def test_deleting_while_a_claimed_turn_runs_leaves_it_a_stray(session: palaver.Session, store: palaver.Store) -> None:
    turn = session.claim()
    assert turn is not None
    session.delete()
    refusal(palaver.TurnSealed, turn.write, {"type": "start"})
    session.undelete()
    assert waiting(session) == []
    refusal(MessageFired, session.claim, "m1")
    assert store.verify() == []


# ---------------------------------------------------------------- to another store


def export(store: palaver.Store) -> bytes:
    out = io.BytesIO()
    exports.write(store.db, out, None)
    return out.getvalue()


@pytest.fixture
def carried(session: palaver.Session, store: palaver.Store, tmp_path: Path) -> palaver.Session:  # type: ignore[misc]
    """The same session in another store: m1 failed once, m2 waits, m3 was taken back, m4 fired, m5 was triggered."""
    fail(session)
    session.enqueue("three", id="m3")
    session.cancel("m3")
    session.enqueue("four", id="m4")
    fire(session, id="m4")
    session.enqueue("five", id="m5", trigger={"source": "cron", "delivery_id": "d5", "fired_at": 5})
    data = export(store)
    with palaver.open(tmp_path / "other.db") as other:
        refused: list[exports.Refusal] = []
        exports.read(other.db, io.BytesIO(data), on_refused=refused.append)
        assert refused == [] and other.verify() == []
        assert export(other) == data
        yield other.sessions.get(session.id)  # type: ignore[misc]
        assert other.verify() == []


def test_a_line_is_carried_as_it_stands(session: palaver.Session, carried: palaver.Session) -> None:
    assert waiting(carried) == ["m1", "m2", "m5"]
    assert carried.queue() == session.queue()
    assert carried.messages_json() == session.messages_json()


def test_what_is_gone_stays_gone_in_another_store(carried: palaver.Session) -> None:
    refusal(MessageCancelled, carried.claim, "m3")
    refusal(MessageFired, carried.cancel, "m4")
    refusal(palaver.QueueConflict, carried.enqueue, "another", id="m3")
    refusal(TriggerFired, carried.commit, "five", trigger={"source": "cron", "delivery_id": "d5"})


def test_a_carried_line_is_worked_off_and_a_second_failure_counts_as_the_second(carried: palaver.Session) -> None:
    fail(carried)
    assert waiting(carried) == ["m2", "m5"]
    fire(carried)
    fire(carried)
    assert said(carried.messages())[4:] == ["one", "two", "done", "five", "done"]
