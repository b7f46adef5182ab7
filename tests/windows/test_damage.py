"""Windows of sessions where something is wrong: rows are gone, turns not filled yet, parents go round in circles."""

from __future__ import annotations

import pytest

import palaver
from palaver import StoreCorrupt

from ..tools.sql import execute, one
from ..tools.talk import texts
from .long_path import LongPath
from .support import agree, backward, forward


@pytest.fixture
def session(store: palaver.Store) -> palaver.Session:
    """Nine turns of a question and an answer."""
    session = store.sessions.create("coder")
    for number in range(9):
        session.commit([f"q{number}", {"role": "assistant", "content": f"a{number}"}])
    return session


def test_turns_that_are_not_filled_yet_are_walked(store: palaver.Store) -> None:
    path = LongPath(store, 40, filled=False)
    agree(path.session)
    assert texts(path.session.messages(after=path.messages[20], limit=3)) == ["21", "22", "23"]
    assert [turn.id for turn in path.session.path(after=path.turns[20], limit=2)] == path.turns[21:23]


def test_messages_and_parts_whose_rows_are_gone_are_skipped(store: palaver.Store, session: palaver.Session) -> None:
    gone = [session.transcript()[number].id for number in (3, 4, 9, 16)]
    for message in gone[:3]:
        execute(store.path, "DELETE FROM chat_messages WHERE id = ?", message)
    execute(store.path, "DELETE FROM chat_parts WHERE message_id = ?", gone[3])
    agree(session)
    assert texts(session.messages(after="", limit=4)) == ["q0", "a0", "q1", "a2"]
    assert texts(session.messages(before=gone[0])) == ["q0", "a0", "q1"]  # where it stood is known
    assert texts(session.messages(after=gone[1], limit=1)) == ["a2"]


def test_a_turn_that_lists_nothing_ends_no_window(store: palaver.Store, session: palaver.Session) -> None:
    for turn in session.path()[2:6]:
        execute(store.path, "DELETE FROM turn_entries WHERE turn_id = ?", turn.id)
    assert texts(session.messages())[10:12] == ["q2", "a2"]  # what no turn lists stands behind the path
    agree(session)


def test_sums_that_are_wrong_cost_time_and_nothing_else(store: palaver.Store, session: palaver.Session) -> None:
    for number in (0, 1, 1_000):
        execute(store.path, "UPDATE turns SET thread_messages = ?", number)
        agree(session)


@pytest.mark.parametrize("filled", [True, False])
def test_parents_that_go_round_in_a_circle_end_every_read(
    store: palaver.Store, session: palaver.Session, filled: bool
) -> None:
    path = session.path()
    execute(store.path, "UPDATE turns SET parent_id = ? WHERE id = ?", path[5].id, path[3].id)
    if not filled:
        execute(store.path, "UPDATE turns SET jump = NULL")
    shown = texts(session.messages())
    assert shown == [f"{who}{number}" for number in range(3, 9) for who in "qa"]
    assert texts(backward(session.messages, 5)) == shown
    assert [turn.id for turn in backward(session.path, 2)] == [turn.id for turn in path[3:]]
    for read in (session.messages, session.parts, session.path):
        with pytest.raises(StoreCorrupt, match=r"verify\(\) says why"):
            forward(read, 5)  # type: ignore[arg-type]
    assert {turn.id for turn in forward(session.tree, 4)} == {turn.id for turn in path}
    assert session.history(limit=3)
    assert "parent" in {problem.rule for problem in store.verify()}


def test_a_head_that_points_nowhere_shows_what_is_behind_the_path(
    store: palaver.Store, session: palaver.Session
) -> None:
    execute(store.path, "UPDATE heads SET turn_id = 'trn_nowhere' WHERE session_id = ?", session.id)
    assert session.messages() == session.messages(limit=3) == session.messages(after="", limit=3) == []
    assert session.path(limit=3) == session.path(after="") == session.parts(limit=1) == []


def test_a_stray_is_known_by_its_column(store: palaver.Store, session: palaver.Session) -> None:
    loser = session.turn("lost")
    session.commit("won")
    with pytest.raises(palaver.HeadConflict):
        loser.seal()
    assert [turn.id for turn in session.strays()] == [loser.id]
    event = one(store.path, "SELECT seq FROM events WHERE kind = 'stray'")
    assert one(store.path, "SELECT stray_seq FROM turns WHERE id = ?", loser.id) == event
