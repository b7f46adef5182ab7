"""Windows: a part of a list, from either end or from a mark, and cursors that go on from there whatever happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import palaver
from palaver import BadValue, HeadConflict, MessageNotFound, NotFound, NotOnPath, Session, Store, Window

from .group import Group
from .helpers import Json, ask, assistant, ids_of, leave_waiting, refused, say, tell, texts, tool_part, user

NO_LIMITS = [0, -1, 10_001, "5", 1.0, True]
NO_MARKS = [7, 1.5, b"x", ["x"], {"id": 7}, {}]


def talk(session: Session, turns: int = 5) -> Session:
    """So many turns: q1, a1, q2, a2 …"""
    for n in range(1, turns + 1):
        session.commit(tell(f"q{n}", f"a{n}"))
    return session


def said(parts: list[Json]) -> list[str]:
    return [part["data"].get("text", part["type"]) for part in parts]


class Windows(Group):
    # ------------------------------------------------------------ messages

    def test_without_a_mark_and_a_limit_it_is_everything(self, session: Session) -> None:
        whole = talk(session, 2).messages()
        assert (texts(whole), whole.before, whole.after) == (["q1", "a1", "q2", "a2"], None, None)
        assert isinstance(whole, Window) and isinstance(whole, list)

    def test_a_limit_alone_gives_the_newest_oldest_first(self, session: Session) -> None:
        page = talk(session).messages(limit=3)
        assert (texts(page), page.before is None, page.after) == (["a4", "q5", "a5"], False, None)
        assert texts(session.messages(limit=10)) == texts(session)
        assert session.messages(limit=10).before is None

    def test_the_first_ones_come_after_an_empty_mark(self, session: Session) -> None:
        page = talk(session).messages(after="", limit=3)
        assert (texts(page), page.before, page.after is None) == (["q1", "a1", "q2"], None, False)
        assert texts(session.messages(before="", limit=2)) == ["q5", "a5"]

    def test_marks_are_messages_and_stand_outside(self, session: Session) -> None:
        names = ids_of(talk(session))
        assert texts(session.messages(before=names[4])) == ["q1", "a1", "q2", "a2"]
        assert texts(session.messages(before=names[4], limit=3)) == ["a1", "q2", "a2"]
        assert texts(session.messages(after=names[6])) == ["a4", "q5", "a5"]
        assert texts(session.messages(after=names[6], limit=2)) == ["a4", "q5"]
        assert texts(session.messages(after=names[2], before=names[7])) == ["a2", "q3", "a3", "q4"]
        assert texts(session.messages(after=names[2], before=names[7], limit=2)) == ["a2", "q3"]
        assert texts(session.messages(before=session.messages()[1])) == ["q1"]
        assert texts(session.messages(before=session.transcript()[1])) == ["q1"]

    def test_pages_go_back_from_cursor_to_cursor(self, session: Session) -> None:
        page = talk(session).messages(limit=4)
        second = session.messages(before=page.before, limit=4)
        third = session.messages(before=second.before, limit=4)
        assert (texts(second), texts(third)) == (["q2", "a2", "q3", "a3"], ["q1", "a1"])
        assert (third.before, third.after is None, second.after is None) == (None, False, False)
        assert texts(session.messages(after=third.after, limit=4)) == texts(second)

    def test_pages_go_on_from_cursor_to_cursor(self, session: Session) -> None:
        page = talk(session).messages(after="", limit=4)
        second = session.messages(after=page.after, limit=4)
        third = session.messages(after=second.after, limit=4)
        assert (texts(second), texts(third)) == (["q3", "a3", "q4", "a4"], ["q5", "a5"])
        assert (third.after, third.before is None) == (None, False)
        assert texts(session.messages(before=third.before, limit=4)) == texts(second)

    def test_a_page_that_ends_with_the_list_says_so(self, session: Session) -> None:
        talk(session, 2)
        assert session.messages(limit=4).before is None
        assert session.messages(after="", limit=4).after is None
        assert session.messages(before=ids_of(session)[2], limit=2).before is None

    def test_a_window_in_which_nothing_is_leads_back_to_where_something_is(self, session: Session) -> None:
        names = ids_of(talk(session, 2))
        behind, before = session.messages(after=names[-1], limit=2), session.messages(before=names[0], limit=2)
        assert (behind, behind.after, before, before.before) == ([], None, [], None)
        assert texts(session.messages(before=behind.before, limit=2)) == ["q2", "a2"]
        assert texts(session.messages(after=before.after, limit=2)) == ["q1", "a1"]
        between = session.messages(after=names[1], before=names[2])
        assert texts(session.messages(before=between.before, limit=1)) == ["a1"]
        assert texts(session.messages(after=between.after, limit=1)) == ["q2"]

    def test_a_session_in_which_nothing_was_said_has_no_pages(self, session: Session) -> None:
        for page in (session.messages(limit=5), session.messages(after="", limit=5), session.parts(limit=5)):
            assert (page, page.before, page.after) == ([], None, None)
        assert session.path(limit=5) == session.path(after="") == session.strays(limit=5) == []

    def test_a_cursor_stays_where_it_is_when_more_is_said(self, session: Session) -> None:
        page = talk(session, 3).messages(limit=2)
        talk(session, 2)
        assert texts(session.messages(before=page.before, limit=2)) == ["q2", "a2"]
        older = session.messages(before=page.before, limit=2)
        assert texts(session.messages(after=older.after)) == ["q3", "a3", "q1", "a1", "q2", "a2"]

    def test_a_turn_of_many_messages_is_cut_anywhere(self, session: Session) -> None:
        parts: list[Json] = [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]
        session.commit(
            [message for n in range(5) for message in (user(f"q{n}"), {"role": "assistant", "parts": parts})]
        )
        whole = session.messages()
        for start in range(10):
            for end in range(start + 1, 10):
                inside = session.messages(after=whole[start]["id"], before=whole[end]["id"])
                assert inside == whole[start + 1 : end]

    def test_a_window_of_a_fork_reaches_into_its_origin(self, session: Session) -> None:
        fork = talk(session, 3).fork(at=talk(session, 1).path()[3])
        talk(fork, 1)
        session.commit("not in the fork")
        page = fork.messages(limit=3)
        assert texts(page) == ["a1", "q1", "a1"]
        assert texts(fork.messages(before=page.before, limit=3)) == ["q3", "a3", "q1"]
        assert texts(fork.messages(after="", limit=2)) == ["q1", "a1"]

    def test_a_branch_that_was_left_is_in_no_window(self, session: Session) -> None:
        turns = talk(session, 4).path()
        names = ids_of(session)
        session.rewind(to=turns[1])
        talk(session, 1)
        assert texts(session.messages(limit=3)) == ["a2", "q1", "a1"]
        assert texts(session.messages(after=names[3])) == ["q1", "a1"]
        for mark in (names[5], {"id": names[7]}):
            with refused(session, NotOnPath):
                session.messages(before=mark)

    def test_a_cursor_on_a_branch_that_was_left_is_told_so(self, session: Session) -> None:
        page = talk(session, 4).messages(limit=3)
        session.rewind(to=session.path()[1])
        with refused(session, NotOnPath):
            session.messages(before=page.before, limit=3)
        session.undo()
        assert texts(session.messages(before=page.before, limit=2)) == ["a2", "q3"]

    def test_a_client_s_own_id_is_a_mark(self, session: Session) -> None:
        session.commit([user("one", id="mine"), assistant("two")])
        session.commit([user("three"), assistant("four", id="theirs")])
        assert texts(session.messages(after="mine", before="theirs")) == ["two", "three"]
        with session.edit("mine", "ONE") as turn:
            say(turn, "TWO")
        assert texts(session.messages(after="mine")) == ["TWO"]

    # ------------------------------------------------------------ the live tail

    def test_what_is_open_is_on_the_newest_page(self, session: Session) -> None:
        talk(session, 2)
        with session.turn("q3") as turn:
            turn.append([{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "half"}])
            assert texts(session.messages(limit=3)) == ["a2", "q3", "half"]
            page = session.messages(limit=1)
            assert texts(session.messages(before=page.before, limit=2)) == ["a2", "q3"]
            assert texts(session.messages(after=ids_of(session)[2])) == ["a2", "q3", "half"]
            turn.append([{"type": "text-delta", "id": "t", "delta": " and whole"}, {"type": "text-end", "id": "t"}])
            assert texts(session.messages(limit=1)) == ["half and whole"]
        talk(session, 1)
        assert texts(session.messages(before=page.before, limit=2)) == ["a2", "q3"]
        assert texts(session.messages(after=page.before)) == ["q1", "a1"]

    def test_a_turn_that_waits_is_on_the_newest_page(self, session: Session) -> None:
        talk(session, 1)
        leave_waiting(session)
        assert [message["role"] for message in session.messages(limit=3)] == ["assistant", "user", "assistant"]
        assert session.parts("tool-run", limit=1)[0]["data"] == tool_part(session)

    def test_a_window_of_the_way_to_a_turn(self, session: Session) -> None:
        turns = talk(session, 3).path()
        branch = session.turn("q4")
        page = session.transcript(turns[1].id, limit=3)
        assert texts(message.ui() for message in page) == ["a1", "q2", "a2"]
        assert texts(m.ui() for m in session.transcript(turns[1].id, before=page.before, limit=3)) == ["q1"]
        assert texts(m.ui() for m in session.transcript(say(branch, "half").id, limit=2)) == ["q4", "half"]
        with refused(session, NotOnPath):
            session.transcript(turns[1].id, after=ids_of(session)[5])
        with refused(session, NotFound):
            session.transcript("trn_nobody", limit=1)

    def test_a_deleted_session_has_nothing_to_show(self, session: Session) -> None:
        name = ids_of(talk(session, 2))[1]
        session.delete()
        assert session.messages(limit=5) == session.parts(limit=5) == session.messages(after="") == []
        with pytest.raises(NotOnPath):
            session.messages(before=name)

    # ------------------------------------------------------------ text, parts

    def test_json_text_has_the_same_cursors(self, session: Session) -> None:
        session.commit(b'{"role": "user", "parts": [{"type": "text",  "text": "1.10"}]}')
        talk(session, 2)
        page, text = session.messages(limit=4), session.messages_json(limit=4)
        assert (text.before, text.after) == (page.before, None)
        assert '{"type": "text",  "text": "1.10"}' in session.messages_json(before=text.before)
        assert session.messages_json() == session.messages_json(limit=5) and session.messages_json().before is None

    def test_parts_come_one_by_one_with_where_they_stand(self, session: Session) -> None:
        talk(session, 1)
        turn = ask(session, user("q2", id="mine"), "a2")
        parts = session.parts()
        assert said(parts) == ["q1", "a1", "q2", "step-start", "a2"]
        assert parts[2] == {
            "message_id": "mine",
            "turn_id": turn.id,
            "index": 0,
            "type": "text",
            "data": {"type": "text", "text": "q2"},
        }
        assert [(part["message_id"], part["index"]) for part in parts[3:]] == [
            (turn.message_id, 0),
            (turn.message_id, 1),
        ]

    def test_parts_of_a_type_are_found_and_paged(self, session: Session) -> None:
        for n in range(1, 4):
            ask(session, f"q{n}", f"a{n}")
        assert session.parts("file") == [] and len(session.parts("step-start")) == 3
        page = session.parts("text", limit=2)
        assert (said(page), page.after) == (["q3", "a3"], None)
        assert said(session.parts("text", before=page.before, limit=3)) == ["a1", "q2", "a2"]
        first = session.parts("step-start", after="", limit=2)
        assert (len(first), first.before, len(session.parts("step-start", after=first.after))) == (2, None, 1)
        assert said(session.parts("text", after=first.after)) == ["a2", "q3", "a3"]

    def test_what_is_before_or_after_a_message_is_so_for_all_its_parts(self, session: Session) -> None:
        turns = [ask(session, f"q{n}", f"a{n}") for n in (1, 2, 3)]
        middle = turns[1].message_id
        assert said(session.parts(before=middle)) == ["q1", "step-start", "a1", "q2"]
        assert said(session.parts(after=middle)) == ["q3", "step-start", "a3"]
        assert session.parts("file", after=middle).before is None
        assert session.parts("step-start", before=turns[0].message_id).after is not None

    def test_parts_that_stream_are_on_the_newest_page_and_their_cursors_last(self, session: Session) -> None:
        talk(session, 1)
        with session.turn("q2") as turn:
            turn.text("half")
            turn.tool("look", {"n": 1}).output("seen")
            page = session.parts(limit=2)
            assert ([part["type"] for part in page], page[0]["turn_id"]) == (["text", "tool-look"], turn.id)
            assert said(session.parts(before=page.before, limit=2)) == ["q2", "step-start"]
            assert session.parts(after=session.parts(before=page.before, limit=1).after) == page
        assert said(session.parts(before=page.before, limit=2)) == ["q2", "step-start"]

    # ------------------------------------------------------------ turns and moves

    def test_turns_of_the_path_have_windows(self, session: Session) -> None:
        turns = talk(session).path()
        page = session.path(limit=2)
        assert (page, page.after) == (turns[3:], None)
        assert session.path(before=page.before, limit=2) == turns[1:3]
        assert session.path(after="", limit=2) == turns[:2]
        assert session.path(after=turns[1].id, limit=2) == session.path(after=turns[1], limit=2) == turns[2:4]
        assert session.path(after=turns[0], before=turns[4]) == turns[1:4]
        assert session.path(before=turns[0]) == session.path(after=turns[4]) == []
        assert session.path(after=turns[4]).before is not None

    def test_the_path_of_a_fork_has_windows(self, session: Session) -> None:
        fork = talk(session, 3).fork()
        talk(fork, 2)
        assert [turn.depth for turn in fork.path(limit=3)] == [3, 4, 5]
        assert fork.path(after=session.path()[0], limit=3) == fork.path()[1:4]

    def test_the_tree_has_windows_parents_first(self, session: Session) -> None:
        turns = talk(session, 4).path()
        session.rewind(to=turns[1])
        talk(session, 2)
        tree = session.tree()
        assert [turn.depth for turn in tree] == [1, 2, 3, 3, 4, 4]
        page = session.tree(limit=2)
        assert (page, page.after) == (tree[4:], None)
        assert session.tree(before=page.before, limit=3) == tree[1:4]
        assert session.tree(after=tree[1], limit=2) == tree[2:4]

    def test_strays_have_windows_in_the_order_that_they_were_left(self, session: Session) -> None:
        lost = [say(session.turn(f"q{n}"), "lost") for n in range(4)]
        session.commit("won")
        for turn in reversed(lost):
            with pytest.raises(HeadConflict):
                turn.seal()
        names = [turn.id for turn in reversed(lost)]
        page = session.strays(limit=2)
        assert ([turn.id for turn in session.strays()], [turn.id for turn in page]) == (names, names[2:])
        assert [turn.id for turn in session.strays(before=page.before)] == names[:2]
        assert [turn.id for turn in session.strays(after=names[0], limit=2)] == names[1:3]
        with refused(session, BadValue):
            session.strays(before=session.path()[0])

    def test_moves_have_windows_by_their_numbers(self, session: Session) -> None:
        talk(session, 3).undo()
        lines = session.history()
        assert [line.kind for line in lines] == ["create", "seal", "seal", "seal", "undo"]
        page = session.history(limit=2)
        assert (page, page.after, session.history(before=page.before)) == (lines[3:], None, lines[:3])
        assert session.history(after=lines[0].seq, limit=2) == session.history(after=lines[0], limit=2) == lines[1:3]
        assert session.history(after=0, limit=1) == session.history(after="", limit=1) == lines[:1]
        assert session.history(after=lines[-1].seq + 100) == session.history(before=lines[0].seq) == []
        assert session.history(after=0, limit=1).before is None

    # ------------------------------------------------------------ what is refused

    @pytest.mark.parametrize("limit", NO_LIMITS, ids=repr)
    def test_a_limit_is_a_number_from_1_to_10_000(self, session: Session, limit: Any) -> None:
        for read in reads(talk(session, 1)):
            with pytest.raises(BadValue):
                read(limit=limit)
            assert len(read(limit=10_000)) == len(read()) > 0

    @pytest.mark.parametrize("mark", NO_MARKS, ids=repr)
    def test_a_mark_is_an_id_or_a_cursor(self, session: Session, mark: Any) -> None:
        for read in reads(talk(session, 1)):
            if read != session.history or type(mark) is not int:
                for side in ("before", "after"):
                    with pytest.raises(BadValue):
                        read(**{side: mark})

    @pytest.mark.parametrize("mark", ["msg_nobody", "nobody", "cur_", "cur_bm9ib2R5", "cur_WyJ4Il0", "\udc00"])
    def test_a_mark_that_nobody_made_is_refused(self, session: Session, mark: str) -> None:
        for read in reads(talk(session, 1)):
            for side in ("before", "after"):
                with pytest.raises((NotFound, BadValue)):
                    read(**{side: mark}, limit=1)

    def test_a_cursor_belongs_to_its_session_and_its_list(self, store: Store, session: Session) -> None:
        other = talk(store.sessions.create(agent="coder"), 3)
        every, theirs = reads(talk(session, 3)), reads(other)
        for read, twin in zip(every, theirs, strict=True):
            cursor = twin(limit=1).before
            with pytest.raises(BadValue, match="session"):
                read(before=cursor)
        cursors = {read(limit=1).before for read in (session.messages, session.parts, session.path, session.tree)}
        assert len(cursors) == 4
        for read in (session.messages, session.path, session.tree, session.history):
            with pytest.raises(BadValue):
                read(before=session.parts(limit=1).before)
        for edge in (other.messages(after=ids_of(other)[-1]).before, other.messages(before=ids_of(other)[0]).after):
            with pytest.raises(BadValue, match="session"):
                session.messages(before=edge)

    def test_marks_the_wrong_way_round_are_refused(self, session: Session) -> None:
        names, turns, lines = ids_of(talk(session, 3)), session.path(), session.history()
        marks: list[tuple[Callable[..., Any], Any, Any]] = [
            (session.messages, names[1], names[3]),
            (session.parts, names[1], names[3]),
            (session.path, turns[0].id, turns[2].id),
            (session.tree, turns[0].id, turns[2].id),
            (session.history, lines[0].seq, lines[2].seq),
        ]
        for read, first, second in marks:
            with pytest.raises(BadValue):
                read(after=second, before=first)
            with pytest.raises(BadValue):
                read(after=first, before=first)

    def test_ids_of_other_sessions_and_nouns_are_refused(self, store: Store, session: Session) -> None:
        other, turns = talk(store.sessions.create(agent="coder"), 1), talk(session, 2).path()
        with pytest.raises(NotOnPath):
            session.messages(before=ids_of(other)[0])
        with pytest.raises(MessageNotFound):
            session.messages(before=turns[0].id)
        with pytest.raises(palaver.TurnNotFound):
            session.path(before=ids_of(session)[0])
        with pytest.raises(NotOnPath):
            session.path(before=other.path()[0])
        with pytest.raises(BadValue):
            session.tree(before=other.path()[0])

    def test_a_session_that_is_not_there_has_no_windows(self, store: Store) -> None:
        gone = Session(store, "ses_nobody")
        for read in (gone.messages, gone.parts, gone.tree, gone.history):
            with pytest.raises(palaver.SessionNotFound):
                read(limit=1)


def reads(session: Session) -> list[Callable[..., Window[Any]]]:
    """Every list of a session that has something in it after a talk."""
    return [session.messages, session.transcript, session.parts, session.path, session.tree, session.history]
