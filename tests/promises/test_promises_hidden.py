"""Rows that left a transcript (row 67): they stay, they are marked for other readers, and the loop skips them.

The head's pointer is the truth; `hidden_at` is a copy of it for readers of the three tables, by one rule: a row of
ours has it exactly when it is not in its home session's `messages()`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import palaver

from ..tools.planting import broken_by
from ..tools.sql import one, query
from ..tools.talk import say, texts

VISIBLE = (
    "SELECT p.data_json ->> 'text' FROM chat_messages m JOIN chat_parts p ON p.message_id = m.id "
    "WHERE m.session_id = ? AND m.metadata_json ->> 'hidden_at' IS NULL AND p.type = 'text'"
)
HOME = VISIBLE.replace("AND m.metadata_json ->> 'hidden_at' IS NULL ", "")


def answers(turn: palaver.Turn, text: str) -> None:
    turn.append([{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": text}])


@pytest.fixture
def session(store: palaver.Store) -> palaver.Session:
    made = store.sessions.create("a")
    for n in (1, 2, 3):
        say(made, f"question {n}", f"answer {n}")
    return made


@broken_by("nothing_is_hidden")
def test_promise_067_hidden_messages_stay_in_the_database_and_the_loop_skips_them(
    store: palaver.Store, session: palaver.Session
) -> None:
    rows = query(store.path, "SELECT id, role, created_at FROM chat_messages ORDER BY id")
    session.rewind(to=session.messages()[1])
    assert texts(session) == ["question 1", "answer 1"]
    assert sorted(row[0] for row in query(store.path, VISIBLE, session.id)) == ["answer 1", "question 1"]
    stamps = query(store.path, "SELECT metadata_json ->> 'hidden_at' FROM chat_messages ORDER BY created_at")
    assert [stamp is not None and stamp > 1_600_000_000_000 for (stamp,) in stamps] == [False] * 2 + [True] * 4
    assert query(store.path, "SELECT id, role, created_at FROM chat_messages ORDER BY id") == rows


def test_promise_067_a_move_back_shows_them_again_byte_for_byte(store: palaver.Store, session: palaver.Session) -> None:
    before = query(store.path, "SELECT id, metadata_json FROM chat_messages ORDER BY id"), session.messages_json()
    session.rewind(to=session.messages()[1])
    session.undo()
    after = query(store.path, "SELECT id, metadata_json FROM chat_messages ORDER BY id"), session.messages_json()
    assert before == after


VERBS: list[Callable[[palaver.Session], object]] = [
    lambda s: s.rewind(to=s.messages()[3]),
    lambda s: s.undo(),
    lambda s: answers(s.regenerate(), "another answer, not finished"),
    lambda s: s.undo(),
    lambda s: answers(s.edit(s.messages()[2]["id"], "question 2, edited"), "answer to the edit"),
    lambda s: s.rewind(to=s.messages()[0]),
    lambda s: say(s, "question 4", "answer 4"),
    lambda s: s.undo(),
    lambda s: s.delete(),
    lambda s: s.undelete(),
]


@broken_by("nothing_is_hidden")
def test_promise_067_after_every_verb_hidden_means_not_in_the_transcript(
    store: palaver.Store, session: palaver.Session
) -> None:
    fork = session.fork(at=session.messages()[3])
    say(fork, "question in the fork", "answer in the fork")
    for verb in VERBS:
        verb(session)
        for one_session in (session, fork):
            home = {row[0] for row in query(store.path, HOME, one_session.id)}
            visible = {row[0] for row in query(store.path, VISIBLE, one_session.id)}
            assert visible == home & set(texts(one_session))
    assert texts(fork) == [
        "question 1",
        "answer 1",
        "question 2",
        "answer 2",
        "question in the fork",
        "answer in the fork",
    ]


def test_promise_067_the_turn_that_loses_a_race_is_hidden(store: palaver.Store, session: palaver.Session) -> None:
    loser = session.turn("too late")
    answers(loser, "lost")
    session.commit("first")
    with pytest.raises(palaver.HeadConflict):
        loser.seal()
    answered = "SELECT metadata_json ->> 'hidden_at' IS NOT NULL FROM chat_messages WHERE id = ?"
    assert loser.message_id is not None
    assert one(store.path, answered, loser.message_id) == 1
    assert "lost" not in texts(session) and "too late" not in texts(session)


def test_promise_067_nobody_but_the_store_writes_the_stamp(store: palaver.Store, session: palaver.Session) -> None:
    with pytest.raises(palaver.ReservedKey):
        session.turn({"role": "user", "content": "hello", "metadata": {"hidden_at": 1}})
    with pytest.raises(palaver.ReservedKey):
        session.turn("hello").write({"type": "start", "messageMetadata": {"hidden_at": 1}})
    assert query(store.path, "SELECT id FROM chat_messages WHERE metadata_json ->> 'hidden_at' IS NOT NULL") == []
