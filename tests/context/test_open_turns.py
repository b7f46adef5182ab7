"""A turn that is still being written reads in every way as `messages()` shows it."""

from __future__ import annotations

import pytest

import palaver

CHUNKS = [
    {"type": "start"},
    {"type": "text-start", "id": "t"},
    {"type": "text-delta", "id": "t", "delta": "Half an "},
    {"type": "text-delta", "id": "t", "delta": "answer"},
]


def test_the_messages_of_an_open_turn_have_their_parts(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    session.commit("before")
    turn = session.turn("Why?")
    turn.append(CHUNKS)
    shown = session.messages()
    assert shown[-1]["parts"][0]["text"] == "Half an answer"
    assert [message.ui() for message in session.messages_of(turn.id)] == shown[1:]
    assert [message.ui() for message in session.transcript(turn.id)] == shown
    turn.seal()
    assert [message.ui() for message in session.messages_of(turn.id)] == session.messages()[1:]
    assert [message.ui() for message in session.transcript(turn.id)] == session.messages()


def test_so_have_those_of_one_that_began_in_another_session_or_that_lost_its_race(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    session.commit("before")
    first, second = session.turn("Why?"), session.turn("How?")
    for turn in (first, second):
        turn.append(CHUNKS)
    second.seal()
    fork = session.fork()
    for reader in (session, fork):
        assert reader.messages_of(first.id)[-1].ui()["parts"][0]["text"] == "Half an answer"
        assert [len(message.parts) for message in reader.transcript(first.id)] == [1, 1, 1]
    with pytest.raises(palaver.HeadConflict):
        first.abort()
