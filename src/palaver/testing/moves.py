"""Moving the head: rewind, undo, redo, move. Nothing is lost, and every move is a line of the history."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import palaver
from palaver import HeadConflict, NothingToUndo, Session

from .group import Group
from .helpers import ask, assistant, ids_of, refused, say, tell, texts, user


def three_turns(session: Session) -> list[str]:
    return [session.commit(tell(f"q{n}", f"a{n}")).id for n in (1, 2, 3)]


class Moves(Group):
    # ------------------------------------------------------------ rewind

    def test_rewind_to_a_turn_keeps_that_turn(self, session: Session) -> None:
        turns = three_turns(session)
        session.rewind(to=turns[1])
        assert (texts(session), session.info.turn_id, session.revision) == (["q1", "a1", "q2", "a2"], turns[1], 4)

    @pytest.mark.parametrize("place", [0, 1, 2, 3, 4, 5])
    def test_rewind_to_a_message_keeps_up_to_and_including_it(self, session: Session, place: int) -> None:
        three_turns(session)
        before = session.messages()
        session.rewind(to=before[place]["id"])
        assert session.messages() == before[: place + 1]

    def test_rewind_into_the_middle_of_a_turn(self, session: Session) -> None:
        session.commit([user("q1"), assistant("a1", id="a-1"), user("q2"), assistant("a2")])
        session.rewind(to="a-1")
        assert texts(session) == ["q1", "a1"]
        session.commit(tell("q3", "a3"))
        assert texts(session) == ["q1", "a1", "q3", "a3"]
        session.undo()
        session.undo()
        assert texts(session) == ["q1", "a1", "q2", "a2"]

    def test_rewind_takes_turns_and_messages_as_they_were_read(self, session: Session) -> None:
        three_turns(session)
        session.rewind(to=session.messages()[3])
        session.rewind(to=session.path()[0])
        assert texts(session) == ["q1", "a1"]

    def test_a_turn_after_a_rewind_grows_from_there(self, session: Session) -> None:
        turns = three_turns(session)
        session.rewind(to=turns[0])
        turn = ask(session, "q4", "a4")
        assert (texts(session), session.path()[-1].parent_id) == (["q1", "a1", "q4", "a4"], turns[0])
        assert {t.id for t in session.tree()} == {*turns, turn.id}

    def test_rewind_reaches_only_the_path(self, session: Session) -> None:
        turns = three_turns(session)
        last = ids_of(session)[5]
        session.rewind(to=turns[0])
        for place in (turns[2], last):
            with refused(session, palaver.NotOnPath) as caught:
                session.rewind(to=place)
            assert (caught.value.wanted, caught.value.session_id) == (place, session.id)

    @pytest.mark.parametrize("place", ["trn_nobody", "msg_nobody", "nobody"])
    def test_rewind_needs_a_place_that_is_there(self, session: Session, place: str) -> None:
        three_turns(session)
        with refused(session, palaver.NotFound):
            session.rewind(to=place)

    def test_rewind_checks_the_expected_revision(self, session: Session) -> None:
        turns = three_turns(session)
        with refused(session, HeadConflict) as caught:
            session.rewind(to=turns[0], expected=2)
        assert (caught.value.expected, caught.value.actual) == (2, 3)
        session.rewind(to=turns[0], expected=3)
        assert session.revision == 4

    def test_an_open_turn_loses_its_place_when_the_head_is_moved(self, session: Session) -> None:
        turns = three_turns(session)
        turn = say(session.turn("q4"), "a4")
        session.rewind(to=turns[0])
        assert texts(session) == ["q1", "a1"]
        with pytest.raises(HeadConflict):
            turn.seal()
        assert (texts(session), [t.id for t in session.strays()]) == (["q1", "a1"], [turn.id])

    # ------------------------------------------------------------ undo and redo

    def test_undo_goes_back_further_each_time_and_redo_forward_again(self, session: Session) -> None:
        three_turns(session)
        seen = []
        for verb in [session.undo] * 3 + [session.redo] * 3:
            verb()
            seen.append(texts(session)[::2])
        assert seen == [["q1", "q2"], ["q1"], [], ["q1"], ["q1", "q2"], ["q1", "q2", "q3"]]
        assert session.revision == 9

    def test_undo_stops_at_the_beginning_and_redo_at_the_end(self, session: Session) -> None:
        three_turns(session)
        with refused(session, NothingToUndo):
            session.redo()
        for _ in range(3):
            session.undo()
        with refused(session, NothingToUndo):
            session.undo()

    def test_undo_takes_back_a_rewind(self, session: Session) -> None:
        turns = three_turns(session)
        session.rewind(to=turns[1])
        session.rewind(to=turns[0])
        session.undo()
        assert session.info.turn_id == turns[1]
        session.undo()
        assert session.info.turn_id == turns[2]

    def test_a_new_turn_ends_what_could_be_redone(self, session: Session) -> None:
        three_turns(session)
        session.undo()
        session.undo()
        ask(session, "q4", "a4")
        with refused(session, NothingToUndo):
            session.redo()
        session.undo()
        assert texts(session) == ["q1", "a1"]
        session.undo()
        assert texts(session) == []

    def test_undo_of_a_regeneration_brings_the_old_answer_back_in_one_step(self, session: Session) -> None:
        ask(session, "Hello?", "Hi.")
        with session.regenerate() as turn:
            say(turn, "Good day.")
        session.undo()
        assert texts(session) == ["Hello?", "Hi."]
        session.redo()
        assert texts(session) == ["Hello?", "Good day."]
        session.undo()
        session.undo()
        assert texts(session) == []

    def test_undo_while_a_regenerated_turn_is_open_restores_the_head_before_it(self, session: Session) -> None:
        ask(session, "Hello?", "Hi.")
        turn = say(session.regenerate(), "Good day.")
        session.undo()
        assert texts(session) == ["Hello?", "Hi."]
        with pytest.raises(HeadConflict) as caught:
            turn.seal()
        assert caught.value.stray == turn.id
        assert texts(session) == ["Hello?", "Hi."]
        assert texts(session.fork(at=turn.id)) == ["Hello?", "Good day."]

    def test_the_first_line_of_a_fork_is_its_floor(self, session: Session) -> None:
        three_turns(session)
        fork = session.fork()
        with refused(fork, NothingToUndo):
            fork.undo()
        ask(fork, "q4", "a4")
        fork.undo()
        assert fork.messages() == session.messages()
        with refused(fork, NothingToUndo):
            fork.undo()

    def test_undo_checks_the_expected_revision(self, session: Session) -> None:
        three_turns(session)
        with refused(session, HeadConflict):
            session.undo(expected=2)
        session.undo(expected=3)
        with refused(session, HeadConflict):
            session.redo(expected=3)
        session.redo(expected=4)
        assert session.revision == 5

    # ------------------------------------------------------------ move

    def test_move_points_the_head_at_any_sealed_turn_of_the_tree(self, session: Session) -> None:
        turns = three_turns(session)
        session.move(turns[0], expected=3)
        session.move(turns[2], expected=4, reason="back again")
        assert (session.info.turn_id, session.history()[-1].reason) == (turns[2], "back again")

    def test_move_is_a_compare_and_swap(self, session: Session) -> None:
        turns = three_turns(session)
        with refused(session, HeadConflict) as caught:
            session.move(turns[0], expected=1)
        assert (caught.value.expected, caught.value.actual, caught.value.code) == (1, 3, "store_commit_failed")

    def test_a_head_never_points_at_an_open_turn(self, session: Session) -> None:
        ask(session)
        turn = session.turn("open")
        with refused(session, palaver.TurnNotFound):
            session.move(turn.id, expected=1)

    def test_a_head_does_not_move_to_a_turn_of_another_session(self, session: Session) -> None:
        fork = session.fork()
        theirs = fork.commit(user("theirs"))
        with refused(session, palaver.TurnNotFound):
            session.move(theirs.id, expected=0)

    # ------------------------------------------------------------ history and time

    def test_history_has_a_line_for_the_creation_and_every_move(self, session: Session) -> None:
        first = ask(session, "q1", "a1")
        second = ask(session, "q2", "a2")
        with session.regenerate() as third:
            say(third, "another a2")
        session.rewind(to=first.id, reason="wrong way")
        session.undo()
        session.redo()
        assert [(line.kind, line.turn_id, line.revision) for line in session.history()] == [
            ("create", None, 0),
            ("seal", first.id, 1),
            ("seal", second.id, 2),
            ("begin", first.id, 3),
            ("seal", third.id, 4),
            ("rewind", first.id, 5),
            ("undo", third.id, 6),
            ("redo", first.id, 7),
        ]
        assert session.history()[5].reason == "wrong way"
        assert (session.history()[-1].turn_id, session.history()[-1].revision) == (session.info.turn_id, 7)

    def test_the_history_of_a_fork_begins_with_the_fork(self, session: Session) -> None:
        turn = ask(session)
        [line] = session.fork().history()
        assert (line.kind, line.turn_id, line.revision) == ("fork", turn.id, 0)

    def test_lines_are_events_of_the_session(self, session: Session) -> None:
        three_turns(session)
        session.undo()
        moved = {e.seq: (e.kind, e.data["revision"]) for e in session.events() if e.kind in ("create", "seal", "undo")}
        assert moved == {line.seq: (line.kind, line.revision) for line in session.history()}

    def test_a_session_reads_as_it_was_at_a_time(self, session: Session) -> None:
        three_turns(session)
        session.rewind(to=session.path()[0])
        latest = {line.at: line.revision for line in session.history()}
        sizes = {0: 0, 1: 2, 2: 4, 3: 6, 4: 2}
        for at, revision in latest.items():
            moment = session.at(at)
            assert (moment.revision, len(moment.messages())) == (revision, sizes[revision])
        last = session.history()[-1].at
        assert texts(session.at(datetime.fromtimestamp((last + 1) / 1000, UTC))) == ["q1", "a1"]

    def test_there_was_no_session_before_its_creation(self, session: Session) -> None:
        with refused(session, palaver.SessionNotFound):
            session.at(session.history()[0].at - 1)
