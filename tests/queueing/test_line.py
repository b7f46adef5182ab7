"""A line of messages: first come first, the same message once, and each is there until it is fired or taken back."""

from __future__ import annotations

import pytest

import palaver
from palaver import BadValue, HeadConflict, MessageCancelled, MessageFired, MessageNotFound, QueueConflict

from ..tools.sql import query
from .support import answer, everything, fire, refusal, said, seen, stamps, talk, waiting


def test_messages_are_claimed_in_the_order_they_were_sent(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    for word in ("zulu", "alpha", "mike"):
        session.enqueue(word, id=word)
    assert waiting(session) == ["zulu", "alpha", "mike"]
    for _ in range(3):
        fire(session)
    assert said(session.messages()) == ["zulu", "done", "alpha", "done", "mike", "done"]
    assert session.claim() is None


def test_what_is_sent_comes_back_as_it_was(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    given = {"id": "c-1", "role": "user", "metadata": {"tone": "dry"}, "parts": [{"type": "text", "text": "hello"}]}
    queued = session.enqueue(given)
    assert (queued.id, queued.message) == ("c-1", given)
    assert session.queue() == [queued]
    assert queued.turn_id.startswith("trn_")
    fire(session)
    assert session.messages()[0] == given


def test_a_named_message_may_jump_the_line(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    for word in ("one", "two", "three"):
        session.enqueue(word, id=word)
    fire(session, id="two")
    assert waiting(session) == ["one", "three"]
    fire(session)
    assert said(session.messages()) == ["two", "done", "one", "done"]


def test_a_claimed_turn_is_the_turn_that_waited(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    talk(session, "before", "yes")
    queued = session.enqueue("next", model={"provider_id": "p", "model_id": "m"})
    turn = session.claim(agent="b")
    assert turn is not None and turn.id == queued.turn_id
    assert said(turn.context()) == ["before", "yes", "next"]
    with turn:
        answer(turn, "now")
    assert [info.id for info in session.path()][-1] == queued.turn_id
    asked, answered = (message["metadata"] for message in session.messages()[-2:])
    assert asked["model"]["model_id"] == "m" and answered["agent"] == "b"


# ---------------------------------------------------------------- the same message is sent once


def test_the_same_id_and_content_is_the_same_message(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("a")
    first = session.enqueue("hello", id="m1")
    before = everything(path)
    assert session.enqueue("hello", id="m1") == first
    assert session.enqueue({"id": "m1", "role": "user", "content": "hello"}) == first
    assert everything(path) == before


def test_without_an_id_the_same_words_are_two_messages(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    one, two = session.enqueue("go on"), session.enqueue("go on")
    assert waiting(session) == [one.id, two.id] and one.id != two.id


def test_the_same_id_is_another_message_in_another_session(store: palaver.Store) -> None:
    one, two = store.sessions.create("a"), store.sessions.create("a")
    one.enqueue("here", id="m1")
    two.enqueue("there", id="m1")
    assert said([one.queue()[0].message, two.queue()[0].message]) == ["here", "there"]


@pytest.mark.parametrize("state", ["waiting", "fired", "cancelled"])
def test_the_same_id_with_another_content_is_refused_whatever_became_of_it(
    store: palaver.Store, path: str, state: str
) -> None:
    session = store.sessions.create("a")
    session.enqueue("hello", id="m1")
    if state == "fired":
        fire(session)
    elif state == "cancelled":
        session.cancel("m1")
    before = everything(path)
    refused = refusal(QueueConflict, session.enqueue, "goodbye", id="m1")
    assert (refused.session_id, refused.id) == (session.id, "m1")  # type: ignore[attr-defined]
    refusal(QueueConflict, session.enqueue, {"role": "user", "content": "hello", "metadata": {"x": 1}}, id="m1")
    assert everything(path) == before


@pytest.mark.parametrize("state", ["fired", "cancelled"])
def test_sending_again_does_not_bring_back_what_is_gone(store: palaver.Store, path: str, state: str) -> None:
    session = store.sessions.create("a")
    first = session.enqueue("hello", id="m1")
    _ = fire(session) if state == "fired" else session.cancel("m1")
    before = everything(path)
    again = session.enqueue("hello", id="m1")
    assert (again.id, again.turn_id, again.queued_at) == (first.id, first.turn_id, first.queued_at)
    assert waiting(session) == []
    assert everything(path) == before


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        ["one", "two"],
        {"role": "assistant", "content": "I am not the user"},
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "x", "metadata": {"queued_at": 1}},
        {"role": "user", "parts": []},
        7,
    ],
)
def test_only_one_message_of_the_user_can_wait(store: palaver.Store, path: str, given: object) -> None:
    session = store.sessions.create("a")
    before = everything(path)
    with pytest.raises(BadValue):
        session.enqueue(given)
    assert everything(path) == before


# ---------------------------------------------------------------- taking back


def test_a_cancelled_message_leaves_a_tombstone(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("a")
    session.enqueue("stay", id="m1")
    session.enqueue("go", id="m2")
    assert session.cancel("m2") is True
    assert waiting(session) == ["m1"]
    queued, hidden = stamps(path, session.id)["go"]
    assert queued is None and hidden is not None
    fire(session)
    assert session.claim() is None
    assert seen(path, session.id) == ["stay", "done"]
    assert store.verify() == []


def test_cancelling_twice_changes_nothing_more(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("a")
    session.enqueue("go", id="m1")
    session.cancel("m1")
    before = everything(path)
    assert session.cancel("m1") is False
    refused = refusal(MessageCancelled, session.claim, "m1")
    assert refused.id == "m1"  # type: ignore[attr-defined]
    assert everything(path) == before


@pytest.mark.parametrize("when", ["while it runs", "when it has ended"])
def test_a_fired_message_cannot_be_taken_back_or_fired_again(store: palaver.Store, path: str, when: str) -> None:
    session = store.sessions.create("a")
    queued = session.enqueue("go", id="m1")
    turn = session.claim()
    assert turn is not None
    answer(turn, "going")
    if when == "when it has ended":
        turn.seal()
    before = everything(path)
    for verb in (session.cancel, session.claim):
        refused = refusal(MessageFired, verb, "m1")
        assert refused.turn_id == queued.turn_id  # type: ignore[attr-defined]
    assert everything(path) == before


@pytest.mark.parametrize("name", ["m9", "", "trn_x", "' OR 1=1 --"])
def test_an_unknown_message_can_be_neither_claimed_nor_cancelled(store: palaver.Store, path: str, name: str) -> None:
    session, other = store.sessions.create("a"), store.sessions.create("a")
    other.enqueue("elsewhere", id="m9")
    session.enqueue("here", id="m1")
    before = everything(path)
    refusal(MessageNotFound, session.claim, name)
    refusal(MessageNotFound, session.cancel, name)
    assert everything(path) == before


# ---------------------------------------------------------------- claim is a compare-and-swap


def test_a_claim_on_a_stale_revision_is_refused_and_the_message_still_waits(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("a")
    session.enqueue("next", id="m1")
    stale = session.revision
    talk(session, "first", "yes")
    before = everything(path)
    for name in (None, "m1"):
        refused = refusal(HeadConflict, session.claim, name, expected=stale)
        assert (refused.expected, refused.actual) == (0, 1)  # type: ignore[attr-defined]
    assert everything(path) == before
    assert waiting(session) == ["m1"]
    turn = session.claim(expected=1)
    assert turn is not None
    turn.seal()
    assert said(session.messages()) == ["first", "yes", "next"]


def test_sending_does_not_disturb_who_is_streaming(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    with session.turn("first") as turn:
        answer(turn, "half")
        revision = session.revision
        session.enqueue("second", id="m2")
        session.enqueue("third", id="m3")
        session.cancel("m3")
        assert session.revision == revision
    assert said(session.messages()) == ["first", "half"]
    assert [line.kind for line in session.history()][-1] == "seal"
    session.commit("on its own", expected=revision + 1)
    assert waiting(session) == ["m2"]
    assert store.verify() == []


# ---------------------------------------------------------------- one order for everybody


def test_the_transcript_and_plain_sql_have_one_order(store: palaver.Store, path: str) -> None:
    """Sent while turns stream, claimed later: a message stands where it was fired."""
    session = store.sessions.create("a")
    with session.turn("1") as turn:
        session.enqueue("3", id="3")
        session.enqueue("7", id="7")
        answer(turn, "2")
    claimed = session.claim()
    assert claimed is not None
    session.enqueue("9", id="9")
    answer(claimed, "4")
    claimed.seal()
    talk(session, "5", "6")
    fire(session, "8")
    fire(session, "10")
    assert seen(path, session.id) == [str(n) for n in range(1, 11)] == said(session.messages())
    times = query(path, "SELECT count(DISTINCT created_at), count(*) FROM chat_messages")
    assert times == [(10, 10)]
    assert store.verify() == []


def test_the_line_survives_a_reopen(path: str) -> None:
    with palaver.open(path) as store:
        session = store.sessions.create("a")
        before = [session.enqueue(word, id=word) for word in ("one", "two", "three")]
        session.cancel("two")
    with palaver.open(path) as store:
        session = store.sessions.get(session.id)
        assert session.queue() == [before[0], before[2]]
        refusal(MessageCancelled, session.claim, "two")
        fire(session)
        fire(session)
        assert said(session.messages()) == ["one", "done", "three", "done"]
        assert store.verify() == []
