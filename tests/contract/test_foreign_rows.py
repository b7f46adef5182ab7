"""Another program writes into our sessions while we work in them: nothing of either side is lost, order is the order
of created_at, and what it changes or removes of ours is never a crash."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

import palaver

from . import judge
from .support import WAIT, answer, assert_agrees, other, put_row, say, sql, stream, texts


@pytest.fixture
def session(store: palaver.Store) -> palaver.Session:
    made = store.sessions.create("coder")
    say(made, "one", "first")
    return made


@pytest.fixture(autouse=True)
def agreement(request: pytest.FixtureRequest, store: palaver.Store) -> Iterator[None]:
    """At the end of every test the judge agrees, unless the other program has broken something of ours."""
    yield
    if "damage" not in request.node.name:
        assert_agrees(store, strict_time="one_moment" not in request.node.name)


def run(store: palaver.Store, statement: str, *params: object) -> None:
    """Plain SQL of another program."""
    sql(store.path, (statement, params))


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def kinds(session: palaver.Session) -> list[str]:
    return [turn.kind for turn in session.path()]


# ---------------------------------------------------------------- loose rows


def test_a_row_shows_at_once(store: palaver.Store, session: palaver.Session) -> None:
    put_row(store.path, session.id, "from outside")
    assert texts(session.messages()) == ["one", "first", "from outside"]
    assert_agrees(store)


def test_rows_become_a_turn_of_their_own_when_we_go_on(store: palaver.Store, session: palaver.Session) -> None:
    for number, role in enumerate(("user", "assistant", "assistant", "user")):
        put_row(store.path, session.id, f"outside {number}", role)
    say(session, "two", "second")
    assert kinds(session) == ["turn", "foreign", "foreign", "turn"]
    assert texts(session.messages())[2:6] == [f"outside {n}" for n in range(4)]


def test_a_row_beside_an_open_turn_is_taken_in_at_its_place(store: palaver.Store, session: palaver.Session) -> None:
    with session.turn("two") as turn:
        put_row(store.path, session.id, "in between")
        assert_agrees(store)
        stream(turn, "second")
        put_row(store.path, session.id, "at the end", "assistant")
        assert texts(session.messages()) == ["one", "first", "two", "in between", "second", "at the end"]
    assert texts(session.messages()) == ["one", "first", "two", "in between", "second", "at the end"]
    assert kinds(session) == ["turn", "turn"]


def test_a_row_is_taken_in_at_its_place_in_a_session_with_many_recent_rows(
    store: palaver.Store, session: palaver.Session
) -> None:
    session.commit([f"message {number}" for number in range(3_000)])
    put_row(store.path, store.sessions.create("coder").id, "elsewhere")
    turn = session.turn("two")
    put_row(store.path, session.id, "in between")
    stream(turn, "second")
    turn.seal()
    assert texts(session.messages())[-3:] == ["two", "in between", "second"]


def test_a_whole_turn_committed_beside_an_open_one_takes_the_loose_rows_in(
    store: palaver.Store, session: palaver.Session
) -> None:
    session.turn("still open")
    put_row(store.path, session.id, "from outside")
    session.commit(["committed"])
    assert texts(session.messages()) == ["one", "first", "from outside", "committed"]


def test_a_waiting_turn_that_lands_because_the_user_moved_on_takes_the_loose_rows_in(
    store: palaver.Store, session: palaver.Session
) -> None:
    turn = session.turn("which?")
    put_row(store.path, session.id, "from outside")
    turn.write({"type": "tool-input-available", "toolCallId": "c1", "toolName": "pick", "input": {}})
    turn.write({"type": "finish"})
    assert turn.status == "waiting"
    say(session, "never mind", "fine")
    assert texts(session.messages()) == ["one", "first", "which?", "from outside", "", "never mind", "fine"]


def test_a_recovered_turn_takes_the_loose_rows_in(store: palaver.Store, session: palaver.Session) -> None:
    turn = session.turn("dies")
    put_row(store.path, session.id, "from outside")
    stream(turn, "last words")
    run(store, "UPDATE turns SET owner = 'nobody' WHERE id = ?", turn.id)
    assert store.recover() == 1
    assert texts(session.messages()) == ["one", "first", "dies", "from outside", "last words"]
    assert_agrees(store)


@pytest.mark.parametrize("verb", ["undo", "rewind", "fork", "delete", "regenerate"])
def test_every_verb_that_moves_the_head_takes_the_rows_first(
    store: palaver.Store, session: palaver.Session, verb: str
) -> None:
    message = put_row(store.path, session.id, "from outside")
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
    put_row(store.path, session.id, "from outside")
    session.undo()
    assert texts(assert_agrees(store).transcripts[session.id]) == ["one", "first"]
    session.redo()
    assert texts(assert_agrees(store).transcripts[session.id]) == ["one", "first", "from outside"]


def test_a_loose_row_of_a_deleted_session_is_hidden_and_comes_back(
    store: palaver.Store, session: palaver.Session
) -> None:
    put_row(store.path, session.id, "from outside")
    session.delete()
    assert assert_agrees(store).transcripts[session.id] == []
    session.undelete()
    assert texts(assert_agrees(store).transcripts[session.id]) == ["one", "first", "from outside"]


def test_a_refused_verb_leaves_the_rows_loose(store: palaver.Store, session: palaver.Session) -> None:
    put_row(store.path, session.id, "from outside")
    before = session.revision
    with pytest.raises(palaver.HeadConflict):
        session.turn("no", expected=before + 5)
    with pytest.raises(palaver.NotFound):
        session.rewind(to="msg_nowhere")
    assert session.revision == before
    session.turn("yes", expected=before).seal()


def test_a_session_that_another_program_made_beside_ours_opens_too(store: palaver.Store) -> None:
    run(
        store,
        "INSERT INTO chat_sessions (id, agent, model_json, permissions_json, metadata_json, created_at, updated_at)"
        " VALUES ('ses_9c82cc000001Abcdefghij0123', 'x', ?, '[]', '{}', 1760000000000, 1760000000000)",
        '{"provider_id":"p","model_id":"m"}',
    )
    session = store.sessions.get("ses_9c82cc000001Abcdefghij0123")
    put_row(store.path, session.id, "hello")
    assert texts(session.messages()) == ["hello"]
    say(session, "hello back", "hi")
    assert kinds(session) == ["foreign", "turn"]


def test_a_row_from_a_clock_that_is_an_hour_ahead_keeps_its_place(
    store: palaver.Store, session: palaver.Session
) -> None:
    put_row(store.path, session.id, "from the future", at=now_ms() + 3_600_000)
    say(session, "two", "second")
    with session.turn("three") as turn:
        put_row(store.path, session.id, "from there too")
        stream(turn, "third")
    assert texts(session.messages())[2:] == ["from the future", "two", "second", "three", "from there too", "third"]


def test_damage_a_row_from_a_clock_that_is_days_ahead_does_not_drag_ours_along_and_is_reported(
    store: palaver.Store, session: palaver.Session
) -> None:
    message = put_row(store.path, session.id, "from far ahead", at=now_ms() + 30 * 86_400_000)
    say(session, "two", "second")
    assert texts(session.messages()) == ["one", "first", "from far ahead", "two", "second"]
    with judge.opened(store.path) as db:
        newest = list(db.execute("SELECT max(created_at) FROM chat_messages WHERE id <> ?", (message,)))
    assert newest[0][0] < now_ms() + 86_400_000
    assert [p for p in store.verify() if p.rule == "time"] != []


def test_rows_of_one_moment_are_in_the_order_of_their_ids(store: palaver.Store, session: palaver.Session) -> None:
    at = now_ms() + 1_000
    ids = [put_row(store.path, session.id, f"at once {n}", "assistant", at=at) for n in range(8)]
    shown_ids = [m["id"] for m in session.messages()][2:]
    assert shown_ids == sorted(ids)
    say(session, "two", "second")
    assert [m["id"] for m in session.messages()][2:10] == sorted(ids)
    assert_agrees(store, strict_time=False)


# ---------------------------------------------------------------- both at work


def test_another_program_that_keeps_writing_while_we_stream_loses_nothing_and_nothing_of_ours(
    store: palaver.Store, session: palaver.Session
) -> None:
    second = store.sessions.create("coder")
    asked = 0
    with other("talk", store.path, "60", session.id, second.id) as program:
        while program.poll() is None and asked < 400:
            for one in (session, second):
                say(one, f"question {asked}", f"answer {asked}")
            asked += 1
        said, errors = program.communicate(timeout=WAIT)
    assert program.returncode == 0, errors
    written = json.loads(said)
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
        said, errors = program.communicate(timeout=WAIT)
        assert program.returncode == 0, errors
    found = assert_agrees(store).transcripts[session.id]
    assert ("word " * 400).strip() in texts(found)
    assert [t for t in texts(found) if "other program" in t] == [w[3] for w in json.loads(said)]
    assert kinds(session) == ["turn", "turn"]


# ---------------------------------------------------------------- damage


def test_damage_a_deleted_message_is_skipped(store: palaver.Store, session: palaver.Session) -> None:
    say(session, "two", "second")
    victim = session.messages()[1]["id"]
    run(store, "DELETE FROM chat_messages WHERE id = ?", victim)
    assert texts(session.messages()) == ["one", "two", "second"]
    say(session, "three", "third")
    session.undo()
    session.redo()
    assert texts(assert_agrees(store).transcripts[session.id]) == ["one", "two", "second", "three", "third"]
    assert [p for p in store.verify() if victim in p.where + p.what] != []


def test_damage_a_deleted_part_is_skipped(store: palaver.Store, session: palaver.Session) -> None:
    run(store, "DELETE FROM chat_parts WHERE type = 'step-start'")
    assert [len(m["parts"]) for m in session.messages()] == [1, 1]
    assert store.verify() != []


def test_damage_a_changed_text_is_reported(store: palaver.Store, session: palaver.Session) -> None:
    assert store.verify() == []
    run(store, """UPDATE chat_parts SET data_json = '{"type":"text","text":"forged"}' WHERE type = 'text'""")
    assert session.messages()
    assert store.verify() != []


def test_damage_a_changed_role_or_session_is_reported(store: palaver.Store, session: palaver.Session) -> None:
    run(store, "UPDATE chat_messages SET role = 'system' WHERE role = 'user'")
    assert store.verify() != []


def test_damage_a_row_hidden_by_another_program_is_reported_and_not_obeyed(
    store: palaver.Store, session: palaver.Session
) -> None:
    run(store, """UPDATE chat_messages SET metadata_json = '{"hidden_at":1760000000000}' WHERE role = 'assistant'""")
    assert texts(session.messages()) == ["one", "first"]
    assert store.verify() != []
    store.verify(fix=True)
    assert_agrees(store)


def test_damage_wrong_rollups_are_reported_and_fixed(store: palaver.Store, session: palaver.Session) -> None:
    run(store, "UPDATE chat_sessions SET prompt_tokens = 77, total_tokens = 99")
    assert store.verify() != []
    store.verify(fix=True)
    assert store.verify() == []
    assert_agrees(store)


def test_damage_a_deleted_session_is_not_found_and_the_rest_goes_on(
    store: palaver.Store, session: palaver.Session
) -> None:
    neighbour = store.sessions.create("coder")
    say(neighbour, "still", "here")
    run(store, "DELETE FROM chat_sessions WHERE id = ?", session.id)
    with pytest.raises(palaver.SessionNotFound):
        store.sessions.get(session.id)
    with pytest.raises(palaver.PalaverError):
        session.turn("anybody?")
    assert [info.id for info in store.sessions] == [neighbour.id]
    assert texts(assert_agrees(store).transcripts[neighbour.id]) == ["still", "here"]


def test_damage_the_answer_in_flight_is_deleted_and_the_turn_still_ends(
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


def test_damage_the_answer_of_a_dead_writer_is_deleted_and_the_store_still_opens(
    path: str, store: palaver.Store, session: palaver.Session
) -> None:
    turn = session.turn("two")
    for chunk in answer("words words")[:5]:
        turn.write(chunk)
    run(store, "UPDATE turns SET owner = 'nobody' WHERE id = ?", turn.id)
    run(store, "DELETE FROM chat_messages WHERE id = ?", turn.message_id)
    with palaver.open(path) as again:
        assert texts(again.sessions.get(session.id).messages()) == ["one", "first", "two"]


def test_damage_json_that_is_none_is_a_typed_error_in_its_session_only(
    store: palaver.Store, session: palaver.Session
) -> None:
    neighbour = store.sessions.create("coder")
    say(neighbour, "still", "here")
    run(store, "UPDATE chat_parts SET data_json = '{broken' WHERE session_id = ?", session.id)
    with pytest.raises(palaver.PalaverError):
        session.messages()
    assert texts(neighbour.messages()) == ["still", "here"]
    assert {info.id for info in store.sessions} == {session.id, neighbour.id}
    assert store.verify() != []


def test_an_archive_by_another_program_is_an_archive(store: palaver.Store, session: palaver.Session) -> None:
    run(store, "UPDATE chat_sessions SET archived_at = updated_at WHERE id = ?", session.id)
    assert list(store.sessions) == []
    with pytest.raises(palaver.SessionArchived):
        session.turn("hello")


def test_damage_rows_dated_long_ago_are_found_after_a_reopen_and_reported(
    path: str, store: palaver.Store, session: palaver.Session
) -> None:
    """Written while nobody looked, dated long before the last look: opening looks everywhere."""
    message = put_row(path, session.id, "dated", at=1_760_000_000_000)
    with palaver.open(path) as again:
        say(again.sessions.get(session.id), "two", "second")
        with judge.opened(path) as db:
            assert list(db.execute("SELECT count(*) FROM turn_entries WHERE ref = ?", (message,))) == [(1,)]
        assert sorted(texts(session.messages())) == ["dated", "first", "one", "second", "two"]
        assert [p for p in again.verify() if message in p.where + p.what] != []


def test_damage_a_session_with_an_open_turn_is_deleted_and_the_store_still_closes_and_opens(
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


def test_damage_a_message_that_grows_after_it_became_a_turn_is_reported(
    store: palaver.Store, session: palaver.Session
) -> None:
    """The other program was still streaming when we went on: what it adds then is an edit of a sealed turn."""
    message = put_row(store.path, session.id, "still growing", "assistant")
    say(session, "two", "second")
    assert store.verify() == []
    late = """INSERT INTO chat_parts VALUES ('prt_late', ?1, ?2, 1, 'text', '{"type":"text","text":"late"}',
              NULL, NULL, 1760000000000, 1760000000000)"""
    run(store, late, message, session.id)
    assert texts(session.messages())[:3] == ["one", "first", "still growing"]
    assert [p for p in store.verify() if message in p.where + p.what or "prt_late" in p.where + p.what] != []
