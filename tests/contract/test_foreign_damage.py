"""Another program changes or removes what is ours, or dates its rows wildly: never a crash, never a locked store;
reads skip what is gone, and verify says what happened."""

from __future__ import annotations

import time

import pytest

import palaver

from ..tools.sql import put_message
from . import judge
from .support import answer, assert_agrees, say, sql, texts


@pytest.fixture
def session(store: palaver.Store) -> palaver.Session:
    made = store.sessions.create("coder")
    say(made, "one", "first")
    return made


def run(store: palaver.Store, statement: str, *params: object) -> None:
    """Plain SQL of another program."""
    sql(store.path, (statement, params))


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def test_a_row_from_a_clock_that_is_days_ahead_does_not_drag_ours_along_and_is_reported(
    store: palaver.Store, session: palaver.Session
) -> None:
    message = put_message(store.path, session.id, "from far ahead", at=now_ms() + 30 * 86_400_000)
    say(session, "two", "second")
    assert texts(session.messages()) == ["one", "first", "from far ahead", "two", "second"]
    with judge.opened(store.path) as db:
        newest = list(db.execute("SELECT max(created_at) FROM chat_messages WHERE id <> ?", (message,)))
    assert newest[0][0] < now_ms() + 86_400_000
    assert [p for p in store.verify() if p.rule == "time"] != []


def test_a_deleted_message_is_skipped(store: palaver.Store, session: palaver.Session) -> None:
    say(session, "two", "second")
    victim = session.messages()[1]["id"]
    run(store, "DELETE FROM chat_messages WHERE id = ?", victim)
    assert texts(session.messages()) == ["one", "two", "second"]
    say(session, "three", "third")
    session.undo()
    session.redo()
    assert texts(assert_agrees(store).transcripts[session.id]) == ["one", "two", "second", "three", "third"]
    assert [p for p in store.verify() if victim in p.where + p.what] != []


def test_a_deleted_part_is_skipped(store: palaver.Store, session: palaver.Session) -> None:
    run(store, "DELETE FROM chat_parts WHERE type = 'step-start'")
    assert [len(m["parts"]) for m in session.messages()] == [1, 1]
    assert store.verify() != []


def test_a_changed_text_is_reported(store: palaver.Store, session: palaver.Session) -> None:
    assert store.verify() == []
    run(store, """UPDATE chat_parts SET data_json = '{"type":"text","text":"forged"}' WHERE type = 'text'""")
    assert session.messages()
    assert store.verify() != []


def test_a_changed_role_or_session_is_reported(store: palaver.Store, session: palaver.Session) -> None:
    run(store, "UPDATE chat_messages SET role = 'system' WHERE role = 'user'")
    assert store.verify() != []


def test_a_row_hidden_by_another_program_is_reported_and_not_obeyed(
    store: palaver.Store, session: palaver.Session
) -> None:
    run(store, """UPDATE chat_messages SET metadata_json = '{"hidden_at":1760000000000}' WHERE role = 'assistant'""")
    assert texts(session.messages()) == ["one", "first"]
    assert store.verify() != []
    store.verify(fix=True)
    assert_agrees(store)


def test_wrong_rollups_are_reported_and_fixed(store: palaver.Store, session: palaver.Session) -> None:
    run(store, "UPDATE chat_sessions SET prompt_tokens = 77, total_tokens = 99")
    assert store.verify() != []
    store.verify(fix=True)
    assert store.verify() == []
    assert_agrees(store)


def test_a_deleted_session_is_not_found_and_the_rest_goes_on(store: palaver.Store, session: palaver.Session) -> None:
    neighbour = store.sessions.create("coder")
    say(neighbour, "still", "here")
    run(store, "DELETE FROM chat_sessions WHERE id = ?", session.id)
    with pytest.raises(palaver.SessionNotFound):
        store.sessions.get(session.id)
    with pytest.raises(palaver.PalaverError):
        session.turn("anybody?")
    assert [info.id for info in store.sessions] == [neighbour.id]
    assert texts(assert_agrees(store).transcripts[neighbour.id]) == ["still", "here"]


def test_the_answer_in_flight_is_deleted_and_the_turn_still_ends(
    store: palaver.Store, session: palaver.Session
) -> None:
    turn = session.turn("two")
    turn.write({"type": "text-start", "id": "t"})
    run(store, "DELETE FROM chat_messages WHERE id = ?", turn.message_id)
    turn.write({"type": "text-delta", "id": "t", "delta": "still talking"})
    turn.write({"type": "text-end", "id": "t"})
    turn.write({"type": "source-url", "sourceId": "s", "url": "https://example.org"})
    turn.seal()
    assert texts(session.messages())[:3] == ["one", "first", "two"]
    say(session, "three", "third")


def test_the_answer_of_a_dead_writer_is_deleted_and_the_store_still_opens(
    path: str, store: palaver.Store, session: palaver.Session
) -> None:
    turn = session.turn("two")
    for chunk in answer("words words")[:5]:
        turn.write(chunk)
    run(store, "UPDATE turns SET owner = 'nobody' WHERE id = ?", turn.id)
    run(store, "DELETE FROM chat_messages WHERE id = ?", turn.message_id)
    with palaver.open(path) as again:
        assert texts(again.sessions.get(session.id).messages()) == ["one", "first", "two"]


def test_json_that_is_none_is_shown_as_damaged_in_its_session_only(
    store: palaver.Store, session: palaver.Session
) -> None:
    neighbour = store.sessions.create("coder")
    say(neighbour, "still", "here")
    run(store, "UPDATE chat_parts SET data_json = '{broken' WHERE session_id = ?", session.id)
    shown = {part["type"] for message in session.messages() for part in message["parts"]}
    assert shown == {"data-damaged"}
    assert texts(neighbour.messages()) == ["still", "here"]
    assert {info.id for info in store.sessions} == {session.id, neighbour.id}
    assert store.verify() != []


def test_rows_dated_long_ago_are_found_after_a_reopen_and_reported(
    path: str, store: palaver.Store, session: palaver.Session
) -> None:
    """Written while nobody looked, dated long before the last look: opening looks everywhere."""
    message = put_message(path, session.id, "dated", at=1_760_000_000_000)
    with palaver.open(path) as again:
        say(again.sessions.get(session.id), "two", "second")
        with judge.opened(path) as db:
            assert list(db.execute("SELECT count(*) FROM turn_entries WHERE ref = ?", (message,))) == [(1,)]
        assert sorted(texts(session.messages())) == ["dated", "first", "one", "second", "two"]
        assert [p for p in again.verify() if message in p.where + p.what] != []


def test_a_session_with_an_open_turn_is_deleted_and_the_store_still_closes_and_opens(
    path: str, store: palaver.Store, session: palaver.Session
) -> None:
    with palaver.open(path) as again:
        turn = again.sessions.get(session.id).turn("two")
        turn.write({"type": "text-start", "id": "t"})
        run(store, "DELETE FROM chat_sessions WHERE id = ?", session.id)
        with pytest.raises(palaver.PalaverError):
            turn.write({"type": "source-url", "sourceId": "s", "url": "https://example.org"})
    with palaver.open(path) as again:
        say(again.sessions.create("coder"), "still", "here")


def test_a_message_that_grows_after_it_became_a_turn_is_reported(
    store: palaver.Store, session: palaver.Session
) -> None:
    """The other program was still streaming when we went on: what it adds then is an edit of a sealed turn."""
    message = put_message(store.path, session.id, "still growing", "assistant")
    say(session, "two", "second")
    assert store.verify() == []
    late = """INSERT INTO chat_parts VALUES ('prt_late', ?1, ?2, 1, 'text', '{"type":"text","text":"late"}',
              NULL, NULL, 1760000000000, 1760000000000)"""
    run(store, late, message, session.id)
    assert texts(session.messages())[:3] == ["one", "first", "still growing"]
    assert [p for p in store.verify() if message in p.where + p.what or "prt_late" in p.where + p.what] != []


def test_rows_of_one_moment_are_in_the_order_of_their_ids(store: palaver.Store, session: palaver.Session) -> None:
    at = now_ms() + 1_000
    ids = [put_message(store.path, session.id, f"at once {n}", "assistant", at=at) for n in range(8)]
    shown_ids = [m["id"] for m in session.messages()][2:]
    assert shown_ids == sorted(ids)
    say(session, "two", "second")
    assert [m["id"] for m in session.messages()][2:10] == sorted(ids)
    assert_agrees(store, strict_time=False)
