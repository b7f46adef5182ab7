"""Another program writes into our sessions while we work in them: nothing of either side is lost, and order is the
order of created_at."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

import palaver

from ..tools.sql import put_message
from . import judge
from .support import answer, assert_agrees, other, say, sql, stream, texts


@pytest.fixture
def session(store: palaver.Store) -> palaver.Session:
    made = store.sessions.create("coder")
    say(made, "one", "first")
    return made


@pytest.fixture(autouse=True)
def agreement(store: palaver.Store) -> Iterator[None]:
    """At the end of every test the judge agrees."""
    yield
    assert_agrees(store)


def run(store: palaver.Store, statement: str, *params: object) -> None:
    """Plain SQL of another program."""
    sql(store.path, (statement, params))


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def kinds(session: palaver.Session) -> list[str]:
    return [turn.kind for turn in session.path()]


# ---------------------------------------------------------------- loose rows


def test_a_row_shows_at_once(store: palaver.Store, session: palaver.Session) -> None:
    put_message(store.path, session.id, "from outside")
    assert texts(session.messages()) == ["one", "first", "from outside"]
    assert_agrees(store)


def test_rows_become_a_turn_of_their_own_when_we_go_on(store: palaver.Store, session: palaver.Session) -> None:
    for number, role in enumerate(("user", "assistant", "assistant", "user")):
        put_message(store.path, session.id, f"outside {number}", role)
    say(session, "two", "second")
    assert kinds(session) == ["turn", "foreign", "foreign", "turn"]
    assert texts(session.messages())[2:6] == [f"outside {n}" for n in range(4)]


def test_a_row_beside_an_open_turn_is_taken_in_at_its_place(store: palaver.Store, session: palaver.Session) -> None:
    with session.turn("two") as turn:
        put_message(store.path, session.id, "in between")
        assert_agrees(store)
        stream(turn, "second")
        put_message(store.path, session.id, "at the end", "assistant")
        assert texts(session.messages()) == ["one", "first", "two", "in between", "second", "at the end"]
    assert texts(session.messages()) == ["one", "first", "two", "in between", "second", "at the end"]
    assert kinds(session) == ["turn", "turn"]


def test_a_row_is_taken_in_at_its_place_in_a_session_with_many_recent_rows(
    store: palaver.Store, session: palaver.Session
) -> None:
    session.commit([f"message {number}" for number in range(3_000)])
    put_message(store.path, store.sessions.create("coder").id, "elsewhere")
    turn = session.turn("two")
    put_message(store.path, session.id, "in between")
    stream(turn, "second")
    turn.seal()
    assert texts(session.messages())[-3:] == ["two", "in between", "second"]


def test_a_whole_turn_committed_beside_an_open_one_takes_the_loose_rows_in(
    store: palaver.Store, session: palaver.Session
) -> None:
    session.turn("still open")
    put_message(store.path, session.id, "from outside")
    session.commit(["committed"])
    assert texts(session.messages()) == ["one", "first", "from outside", "committed"]


def test_a_waiting_turn_that_lands_because_the_user_moved_on_takes_the_loose_rows_in(
    store: palaver.Store, session: palaver.Session
) -> None:
    turn = session.turn("which?")
    put_message(store.path, session.id, "from outside")
    turn.write({"type": "tool-input-available", "toolCallId": "c1", "toolName": "pick", "input": {}})
    turn.write({"type": "finish"})
    assert turn.status == "waiting"
    say(session, "never mind", "fine")
    assert texts(session.messages()) == ["one", "first", "which?", "from outside", "", "never mind", "fine"]


def test_a_recovered_turn_takes_the_loose_rows_in(store: palaver.Store, session: palaver.Session) -> None:
    turn = session.turn("dies")
    put_message(store.path, session.id, "from outside")
    stream(turn, "last words")
    run(store, "UPDATE turns SET owner = 'nobody' WHERE id = ?", turn.id)
    assert store.recover() == 1
    assert texts(session.messages()) == ["one", "first", "dies", "from outside", "last words"]
    assert_agrees(store)


@pytest.mark.parametrize("verb", ["undo", "rewind", "fork", "delete", "regenerate"])
def test_every_verb_that_moves_the_head_takes_the_rows_first(
    store: palaver.Store, session: palaver.Session, verb: str
) -> None:
    message = put_message(store.path, session.id, "from outside")
    verbs = {
        "undo": session.undo,
        "rewind": lambda: session.rewind(to=session.path()[0]),
        "fork": session.fork,
        "delete": session.delete,
        "regenerate": session.regenerate,
    }
    verbs[verb]()
    with judge.opened(store.path) as db:
        listed = list(
            db.execute("SELECT t.kind FROM turn_entries e JOIN turns t ON t.id = turn_id WHERE ref = ?", (message,))
        )
    assert ("foreign",) in listed
    assert_agrees(store)


def test_undo_after_a_row_came_takes_back_the_row_and_not_our_turn(
    store: palaver.Store, session: palaver.Session
) -> None:
    put_message(store.path, session.id, "from outside")
    session.undo()
    assert texts(assert_agrees(store).transcripts[session.id]) == ["one", "first"]
    session.redo()
    assert texts(assert_agrees(store).transcripts[session.id]) == ["one", "first", "from outside"]


def test_a_loose_row_of_a_deleted_session_is_hidden_and_comes_back(
    store: palaver.Store, session: palaver.Session
) -> None:
    put_message(store.path, session.id, "from outside")
    session.delete()
    assert assert_agrees(store).transcripts[session.id] == []
    session.undelete()
    assert texts(assert_agrees(store).transcripts[session.id]) == ["one", "first", "from outside"]


def test_a_verb_that_is_refused_for_another_reason_leaves_the_rows_loose(
    store: palaver.Store, session: palaver.Session
) -> None:
    put_message(store.path, session.id, "from outside")
    with pytest.raises(palaver.NotFound):
        session.rewind(to="msg_nowhere")
    assert session.info.revision == 1


def test_a_conflict_leaves_the_rows_on_the_path_and_who_reads_them_gets_through(
    store: palaver.Store, session: palaver.Session
) -> None:
    put_message(store.path, session.id, "from outside")
    with pytest.raises(palaver.HeadConflict):
        session.turn("no", expected=1)
    assert session.info.revision == 2 and kinds(session) == ["turn", "foreign"]
    put_message(store.path, session.id, "again")
    session.turn("yes", expected=session.revision).seal()
    assert texts(session.messages())[2:] == ["from outside", "again", "yes"]


def test_a_session_that_another_program_made_beside_ours_opens_too(store: palaver.Store) -> None:
    run(
        store,
        "INSERT INTO chat_sessions (id, agent, model_json, permissions_json, metadata_json, created_at, updated_at)"
        " VALUES ('ses_9c82cc000001Abcdefghij0123', 'x', ?, '[]', '{}', 1760000000000, 1760000000000)",
        '{"provider_id":"p","model_id":"m"}',
    )
    session = store.sessions.get("ses_9c82cc000001Abcdefghij0123")
    put_message(store.path, session.id, "hello")
    assert texts(session.messages()) == ["hello"]
    say(session, "hello back", "hi")
    assert kinds(session) == ["foreign", "turn"]


def test_a_row_from_a_clock_that_is_an_hour_ahead_keeps_its_place(
    store: palaver.Store, session: palaver.Session
) -> None:
    put_message(store.path, session.id, "from the future", at=now_ms() + 3_600_000)
    say(session, "two", "second")
    with session.turn("three") as turn:
        put_message(store.path, session.id, "from there too")
        stream(turn, "third")
    assert texts(session.messages())[2:] == ["from the future", "two", "second", "three", "from there too", "third"]


# ---------------------------------------------------------------- both at work


def test_another_program_that_keeps_writing_while_we_stream_loses_nothing_and_nothing_of_ours(
    store: palaver.Store, session: palaver.Session
) -> None:
    second = store.sessions.create("coder")
    asked = 0
    with other("talk", store.path, "60", session.id, second.id) as program:
        while not program.is_over() and asked < 400:
            for one in (session, second):
                say(one, f"question {asked}", f"answer {asked}")
            asked += 1
        written = json.loads(program.finish()[0])
    assert len(written) == 60
    for one in (session, second):
        found = texts(assert_agrees(store).transcripts[one.id])
        assert [t for t in found if t.startswith("question")] == [f"question {n}" for n in range(asked)]
        assert [t for t in found if t.startswith("answer")] == [f"answer {n}" for n in range(asked)]
        assert [t for t in found if "other program" in t] == [w[3] for w in written if w[0] == one.id]
    _all_adopted(store, [w[1] for w in written])


def _all_adopted(store: palaver.Store, messages: list[str]) -> None:
    store.adopt()
    with judge.opened(store.path) as db:
        listed = {row[0] for row in db.execute("SELECT ref FROM turn_entries WHERE kind = 'message'")}
    assert set(messages) <= listed
    assert_agrees(store)
    assert [p for p in store.verify() if "digest" in p.rule or "leaf" in p.rule] == []


def test_a_long_stream_survives_a_busy_neighbour(store: palaver.Store, session: palaver.Session) -> None:
    with other("talk", store.path, "40", session.id) as program, session.turn("tell me everything") as turn:
        chunks = answer("word " * 400)
        for chunk in chunks:
            turn.write(chunk)
        (said,) = program.finish()
    found = assert_agrees(store).transcripts[session.id]
    assert ("word " * 400).strip() in texts(found)
    assert [t for t in texts(found) if "other program" in t] == [w[3] for w in json.loads(said)]
    assert kinds(session) == ["turn", "turn"]


def test_an_archive_by_another_program_is_an_archive(store: palaver.Store, session: palaver.Session) -> None:
    run(store, "UPDATE chat_sessions SET archived_at = updated_at WHERE id = ?", session.id)
    assert list(store.sessions) == []
    with pytest.raises(palaver.SessionArchived):
        session.turn("hello")
