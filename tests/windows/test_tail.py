"""The tail behind a path: rows of other programs are in the windows of a session, wherever it is cheap to find them."""

from __future__ import annotations

import pytest

import palaver
from palaver.core.read import loose_rows

from ..tools.sql import one, put_message, writing
from ..tools.talk import texts
from .support import agree, backward, forward

T0 = 1_760_000_000_000


@pytest.fixture
def session(store: palaver.Store) -> palaver.Session:
    session = store.sessions.create("coder")
    session.commit(["one", "two"])
    return session


def test_rows_of_another_program_are_on_the_newest_page(store: palaver.Store, session: palaver.Session) -> None:
    names = [put_message(store.path, session.id, f"foreign {number}") for number in range(3)]
    page = session.messages(limit=4)
    assert texts(page) == ["two", "foreign 0", "foreign 1", "foreign 2"]
    assert texts(session.messages(after=names[0], before=names[2])) == ["foreign 1"]
    assert texts(session.messages(before=session.messages(limit=2).before, limit=2)) == ["two", "foreign 0"]


def test_a_cursor_at_a_loose_row_holds_when_it_is_adopted(store: palaver.Store, session: palaver.Session) -> None:
    for number in range(3):
        put_message(store.path, session.id, f"foreign {number}")
    page, parts = session.messages(limit=2), session.parts(limit=2)
    session.commit("three")
    assert texts(session.messages(before=page.before, limit=2)) == ["two", "foreign 0"]
    assert texts(session.messages(after=page.before)) == ["foreign 2", "three"]
    assert [part["data"]["text"] for part in session.parts(after=parts.before)] == ["foreign 2", "three"]


def test_a_cursor_in_an_open_turn_holds_when_its_lines_are_numbered_anew(
    store: palaver.Store, session: palaver.Session
) -> None:
    """A row that lies beside the turn becomes a line of it, between others."""
    with session.turn("three") as turn:
        put_message(store.path, session.id, "beside")
        turn.text("four")
        page = session.messages(limit=1)
    assert texts(session.messages(limit=3)) == ["three", "beside", "four"]
    assert texts(session.messages(before=page.before, limit=2)) == ["three", "beside"]


def test_a_session_of_another_program_has_windows(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    with writing(store.path) as other:
        other.execute(
            "INSERT INTO chat_sessions SELECT 'theirs', agent, workspace_root, model_json, parent_id,"
            " parent_message_id, permissions_json, metadata_json, 0, 0, 0, 0, 0, 0, 0, ?, ?, NULL"
            " FROM chat_sessions WHERE id = ?",
            (T0, T0, session.id),
        )
    for number in range(5):
        put_message(store.path, "theirs", f"foreign {number}")
    agree(store.sessions.get("theirs"))
    assert texts(store.sessions.get("theirs").messages(limit=2)) == ["foreign 3", "foreign 4"]


def test_very_many_of_them_are_all_found(store: palaver.Store, session: palaver.Session) -> None:
    count = 2 * loose_rows.NEWEST + 50
    with writing(store.path) as other:
        at = one(store.path, "SELECT max(created_at) FROM chat_messages")
        rows = [(f"foreign {number:03d}", session.id, at + number + 1) for number in range(count)]
        other.executemany("INSERT INTO chat_messages VALUES (?, ?, 'user', '{}', ?3, ?3)", rows)
    whole = session.messages()
    assert len(whole) == count + 2
    assert forward(session.messages, 100) == backward(session.messages, 100) == whole


def test_one_that_is_dated_before_very_many_others_comes_with_its_adoption(
    store: palaver.Store, session: palaver.Session
) -> None:
    """Who reads all of a session sees it at once; a window does not go through all rows for it."""
    session.commit([str(number) for number in range(loose_rows.NEWEST)])
    put_message(store.path, session.id, "long ago", at=T0)
    assert "long ago" in texts(session.messages())
    assert texts(session.messages(limit=1)) == [str(loose_rows.NEWEST - 1)]
    session.adopt()
    assert texts(session.messages(limit=1)) == ["long ago"]
