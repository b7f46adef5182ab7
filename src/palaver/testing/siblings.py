"""Regenerate and edit: a sibling turn lists the same question, or a new row for it; nothing is copied or lost."""

from __future__ import annotations

import pytest

import palaver
from palaver import HeadConflict, Session, Store

from .group import Group
from .helpers import ask, assistant, ids_of, refused, say, texts, user


class Siblings(Group):
    # ------------------------------------------------------------ regenerate

    def test_regenerate_answers_the_same_question_again(self, session: Session) -> None:
        first = ask(session, "Hello?", "Hi.")
        question = ids_of(session)[0]
        with session.regenerate() as turn:
            say(turn, "Good day.")
        assert texts(session) == ["Hello?", "Good day."]
        assert ids_of(session)[0] == question
        assert [t.id for t in session.path()] == [turn.id] != [first.id]

    def test_the_question_is_listed_not_copied(self, session: Session) -> None:
        ask(session, user("Hello?", id="q-1"), "Hi.")
        for n in range(3):
            with session.regenerate() as turn:
                say(turn, f"answer {n}")
        assert (ids_of(session)[0], texts(session)) == ("q-1", ["Hello?", "answer 2"])
        assert (session.info.turns, session.info.messages) == (1, 2)
        assert [(t.parent_id, t.depth) for t in session.tree()] == [(None, 1)] * 4

    def test_the_old_answer_is_gone_as_soon_as_the_new_one_begins(self, session: Session) -> None:
        ask(session, "Hello?", "Hi.")
        turn = session.regenerate()
        assert (texts(session), session.revision, session.path()) == (["Hello?"], 2, [])
        say(turn, "Good day.")
        turn.seal()
        assert (texts(session), session.revision) == (["Hello?", "Good day."], 3)

    def test_an_earlier_answer_may_be_regenerated(self, session: Session) -> None:
        for n in range(3):
            ask(session, f"question {n}", f"answer {n}")
        with session.regenerate(ids_of(session)[3]) as turn:
            say(turn, "another 1")
        assert texts(session) == ["question 0", "answer 0", "question 1", "another 1"]

    def test_an_answer_in_the_middle_of_a_turn_may_be_regenerated(self, session: Session) -> None:
        session.commit([user("q1"), assistant("a1", id="a-1"), user("q2"), assistant("a2")])
        with session.regenerate("a-1") as turn:
            say(turn, "another a1")
        assert texts(session) == ["q1", "another a1"]

    def test_the_preview_is_that_of_the_edited_question(self, store: Store, session: Session) -> None:
        ask(session, "first")
        ask(session, "and then")
        session.edit(session.messages()[0]["id"], "second").seal()
        assert (session.info.preview, store.verify()) == ("second", [])
        session.undo()
        assert (session.info.preview, store.verify()) == ("first", [])
        session.redo()
        assert (session.info.preview, store.verify()) == ("second", [])

    def test_the_preview_of_an_edit_that_lost_the_race_is_not_kept(self, store: Store, session: Session) -> None:
        ask(session, "first")
        late = session.edit(session.messages()[0]["id"], "second")
        session.undo()
        with pytest.raises(palaver.HeadConflict):
            late.seal()
        assert (session.info.preview, store.verify()) == ("first", [])

    def test_regenerate_in_a_fork_leaves_the_original_alone(self, session: Session) -> None:
        ask(session, "Hello?", "Hi.")
        fork = session.fork()
        with fork.regenerate() as turn:
            say(turn, "Good day.")
        assert (texts(fork), texts(session)) == (["Hello?", "Good day."], ["Hello?", "Hi."])
        assert ids_of(fork)[0] == ids_of(session)[0]

    def test_regenerate_checks_the_expected_revision(self, session: Session) -> None:
        ask(session)
        with refused(session, HeadConflict) as caught:
            session.regenerate(expected=0)
        assert (caught.value.expected, caught.value.actual, caught.value.stray) == (0, 1, None)

    def test_an_answer_that_is_still_being_given_may_be_regenerated(self, session: Session) -> None:
        ask(session, "q1", "a1")
        first = say(session.turn("q2"), "one")
        second = session.regenerate(session.messages()[3]["id"])
        assert (texts(session), session.revision) == (["q1", "a1", "q2"], 2)
        say(second, "two")
        with pytest.raises(HeadConflict):
            first.seal()
        second.seal()
        assert (texts(session), [t.id for t in session.strays()]) == (["q1", "a1", "q2", "two"], [first.id])

    def test_regenerate_after_a_turn_without_an_answer_answers_its_question(self, session: Session) -> None:
        ask(session, "q1", "a1")
        session.turn("q2").abort()
        with session.regenerate() as turn:
            say(turn, "a2")
        assert texts(session) == ["q1", "a1", "q2", "a2"]

    def test_an_aborted_regeneration_can_be_undone(self, session: Session) -> None:
        ask(session, "Hello?", "Hi.")
        with pytest.raises(ValueError), session.regenerate():
            raise ValueError("no model")
        assert texts(session) == ["Hello?"]
        session.undo()
        assert texts(session) == ["Hello?", "Hi."]

    def test_there_must_be_an_answer_to_regenerate(self, session: Session) -> None:
        with refused(session, palaver.MessageNotFound):
            session.regenerate()
        with refused(session, palaver.MessageNotFound):
            session.regenerate("msg_nobody")

    def test_what_left_the_path_is_not_regenerated(self, session: Session) -> None:
        first = ask(session, "one", "1")
        ask(session, "two", "2")
        answer = ids_of(session)[3]
        session.rewind(to=first.id)
        with refused(session, palaver.NotOnPath):
            session.regenerate(answer)

    # ------------------------------------------------------------ edit

    def test_edit_asks_differently_under_the_id_the_client_knows(self, session: Session) -> None:
        ask(session, user("Hello?", id="q-1"), "Hi.")
        with session.edit("q-1", "Good morning?") as turn:
            assert texts(session) == ["Good morning?"]
            say(turn, "Good morning.")
        assert (texts(session), ids_of(session)[0]) == (["Good morning?", "Good morning."], "q-1")

    def test_a_message_without_a_client_id_keeps_its_own_when_edited(self, session: Session) -> None:
        ask(session, "Hello?", "Hi.")
        question = ids_of(session)[0]
        for n in range(3):
            with session.edit(question, f"edit {n}") as turn:
                say(turn, f"answer {n}")
        assert (texts(session), ids_of(session)[0]) == (["edit 2", "answer 2"], question)

    def test_the_words_before_an_edit_come_back_by_undo(self, session: Session) -> None:
        ask(session, user("Hello?", id="q-1"), "Hi.")
        with session.edit("q-1", "Good morning?") as turn:
            say(turn, "Good morning.")
        session.undo()
        assert (texts(session), ids_of(session)[0]) == (["Hello?", "Hi."], "q-1")

    def test_a_question_that_is_still_being_answered_may_be_edited(self, session: Session) -> None:
        ask(session, "q1", "a1")
        first = say(session.turn(user("q2", id="q-2")), "one")
        with session.edit("q-2", "another q2") as second:
            assert (texts(session), session.revision) == (["q1", "a1", "another q2"], 2)
            say(second, "two")
        with pytest.raises(HeadConflict):
            first.seal()
        assert texts(session) == ["q1", "a1", "another q2", "two"]

    def test_an_edit_in_the_middle_of_a_turn_keeps_what_was_before_it(self, session: Session) -> None:
        session.commit([user("q1"), assistant("a1"), user("q2", id="q-2"), assistant("a2")])
        with session.edit("q-2", "another q2") as turn:
            say(turn, "another a2")
        assert texts(session) == ["q1", "a1", "another q2", "another a2"]

    def test_an_edit_may_be_a_message_with_parts_and_metadata(self, session: Session) -> None:
        ask(session, user("Hello?", id="q-1"))
        session.edit("q-1", {"parts": [{"type": "data-x", "data": 1}], "metadata": {"k": 2}}).seal()
        assert session.messages() == [
            {"id": "q-1", "role": "user", "metadata": {"k": 2}, "parts": [{"type": "data-x", "data": 1}]}
        ]

    def test_an_edit_checks_the_expected_revision(self, session: Session) -> None:
        ask(session, user("Hello?", id="q-1"))
        with refused(session, HeadConflict):
            session.edit("q-1", "Bye?", expected=7)

    def test_edit_is_for_questions_and_regenerate_for_answers(self, session: Session) -> None:
        session.commit([user("Hello?", id="q-1"), assistant("Hi.", id="a-1")])
        with refused(session, palaver.Refused):
            session.edit("a-1", "I never said that.")

    @pytest.mark.parametrize("nothing", [None, []], ids=["None", "empty list"])
    @pytest.mark.parametrize("message", ["q-1", "a-1"])
    def test_an_edit_needs_something_to_say(self, session: Session, message: str, nothing: list[str] | None) -> None:
        session.commit([user("Hello?", id="q-1"), assistant("Hi.", id="a-1")])
        with refused(session, palaver.PalaverError):
            session.edit(message, nothing)

    def test_an_edit_replaces_one_message_by_one(self, session: Session) -> None:
        ask(session, user("Hello?", id="q-1"))
        with refused(session, palaver.BadValue):
            session.edit("q-1", ["one", "two"])
