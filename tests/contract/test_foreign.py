"""A file that only another program has written: it opens, lists, loads, continues, forks and rewinds here, and stays
readable for the other program; nothing it wrote changes by a byte, except the stamp of a rewind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import palaver

from . import judge
from .other_program import BRANCH, EMPTY, FULL, MESSAGE_IDS, OLD, PLAIN, QUEUED, RULES
from .support import assert_agrees, judge_alone, make_foreign, say, shown, sql, stream, texts

PLAIN_TALK = ["one", "first answer", "two", "second answer", "and a bit more", "three, unanswered"]
LEFT_OUT = {"updated_at", "model_json"}  # what a new turn in a session refreshes by contract


@pytest.fixture
def foreign(tmp_path: Path) -> str:
    path = str(tmp_path / "theirs.db")
    make_foreign(path)
    return path


@pytest.fixture
def store(foreign: str) -> Iterator[palaver.Store]:
    with palaver.open(foreign) as opened:
        yield opened


def theirs(path: str) -> dict[str, list[dict[str, Any]]]:
    """Every value that the other program wrote, byte for byte."""
    found: dict[str, list[dict[str, Any]]] = {}
    with judge.opened(path) as db:
        for table in ("chat_sessions", "chat_messages", "chat_parts"):
            names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            rows = db.execute(f"SELECT * FROM {table} WHERE id LIKE '%Foreign0%' ORDER BY id")
            found[table] = [dict(zip(names, row, strict=True)) for row in rows]
    for session in found["chat_sessions"]:
        for name in LEFT_OUT:
            del session[name]
    return found


def without_updated_at(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "updated_at"} for row in rows]


def kinds(session: palaver.Session) -> list[tuple[str, int]]:
    """The turns on the path, and how many messages each has."""
    counts = [turn.thread_messages for turn in session.path()]
    return [(t.kind, n - before) for t, n, before in zip(session.path(), counts, [0, *counts], strict=False)]


# ---------------------------------------------------------------- opening and reading


def test_every_session_loads_as_the_judge_rebuilds_it(store: palaver.Store) -> None:
    for session_id in (FULL, BRANCH, OLD, EMPTY, PLAIN):
        rebuilt = judge.look(store.path).transcripts[session_id]
        messages = store.sessions.get(session_id).messages()
        assert shown(messages) == shown(rebuilt)
        assert [m["id"] for m in messages] == [m["id"] for m in rebuilt]


def test_a_list_shows_them_and_leaves_the_archived_one_out(store: palaver.Store) -> None:
    assert {info.id for info in store.sessions} == {FULL, BRANCH, EMPTY, PLAIN, QUEUED}
    assert {info.id for info in store.sessions.list(archived=True).sessions} == {
        *(FULL, BRANCH, OLD, EMPTY, PLAIN, QUEUED)
    }
    assert {info.id for info in store.sessions.list(agent="plan").sessions} == {FULL, BRANCH}
    assert {info.id for info in store.sessions.list(workspace="/src/acme").sessions} == {FULL, BRANCH}
    assert {info.id for info in store.sessions.list(parent=FULL).sessions} == {BRANCH}


def test_a_session_shows_what_its_columns_say(store: palaver.Store) -> None:
    info = store.sessions.get(FULL).info
    assert (info.agent, info.workspace, info.total_tokens, info.cost_usd) == ("plan", "/src/acme", 168, 0.25)
    assert info.usage == palaver.Usage(100, 20, 3, 40, 5)
    assert info.model == {"provider_id": "acme", "model_id": "large-2"}
    branch = store.sessions.get(BRANCH).info
    assert (branch.parent_id, branch.parent_message_id) == (FULL, MESSAGE_IDS[1])


def test_a_transcript_as_json_has_every_byte_as_it_was_written(store: palaver.Store) -> None:
    text = store.sessions.get(FULL).messages_json()
    assert '"input":{"n":1.10},"output":[1e2, null]' in text
    assert '{ "model_id": "large-2", "provider_id": "acme", "variant": "fast" }' in text


def test_hidden_messages_stay_hidden_and_stay_there(store: palaver.Store) -> None:
    session = store.sessions.get(FULL)
    assert "taken back" not in texts(session.messages())
    say(session, "hello", "hi")
    assert "taken back" not in texts(session.messages())
    assert_agrees(store)


def test_a_queued_message_of_another_program_is_in_no_transcript_until_it_is_fired(store: palaver.Store) -> None:
    session = store.sessions.get(QUEUED)
    assert texts(session.messages()) == ["begin", "at it"]
    say(session, "meanwhile", "yes")
    assert texts(session.messages()) == ["begin", "at it", "meanwhile", "yes"]
    at = "(SELECT max(created_at) + 1 FROM chat_messages)"
    fire = f"UPDATE chat_messages SET metadata_json = '{{}}', created_at = {at}, updated_at = {at} WHERE id = ?"
    sql(store.path, (fire, [MESSAGE_IDS[-1]]))
    assert texts(session.messages()) == ["begin", "at it", "meanwhile", "yes", "still in the queue"]
    assert_agrees(store)


def test_opening_and_reading_changes_no_value_and_no_row(foreign: str) -> None:
    before = theirs(foreign)
    with palaver.open(foreign) as store:
        for info in store.sessions.list(archived=True).sessions:
            store.sessions.get(info.id).messages()
        assert theirs(foreign) == before
    assert judge_alone(foreign).violations == []


# ---------------------------------------------------------------- going on


def test_a_new_turn_follows_and_what_was_there_becomes_foreign_turns(store: palaver.Store) -> None:
    session = store.sessions.get(PLAIN)
    say(session, "four", "fourth answer")
    assert texts(session.messages()) == [*PLAIN_TALK, "four", "fourth answer"]
    assert kinds(session) == [("foreign", 2), ("foreign", 3), ("foreign", 1), ("turn", 2)]
    assert_agrees(store)


def test_the_first_foreign_turn_has_what_came_before_any_user(store: palaver.Store) -> None:
    session = store.sessions.get(FULL)
    session.adopt()
    assert kinds(session) == [("foreign", 1), ("foreign", 2), ("foreign", 2)]
    assert [turn.status for turn in session.path()] == ["completed", "aborted", "completed"]


def test_going_on_changes_nothing_that_was_there(store: palaver.Store) -> None:
    before = theirs(store.path)
    for session_id in (FULL, BRANCH, EMPTY, PLAIN):
        say(store.sessions.get(session_id), "more", "and more")
    assert theirs(store.path) == before


def test_going_on_does_not_count_their_usage_twice(store: palaver.Store) -> None:
    session = store.sessions.get(FULL)
    with session.turn("more") as turn:
        stream(turn, "and more")
        turn.usage(input=2)
    assert session.info.total_tokens == 170
    assert_agrees(store)


def test_their_permission_rules_stay_as_they_are(store: palaver.Store) -> None:
    session = store.sessions.get(FULL)
    say(session, "more", "and more", model={"provider_id": "x", "model_id": "y"})
    session.undo()
    with judge.opened(store.path) as db:
        assert list(db.execute("SELECT permissions_json FROM chat_sessions WHERE id = ?", (FULL,))) == [(RULES,)]


def test_an_archived_session_is_read_only_until_it_is_taken_back(store: palaver.Store) -> None:
    session = store.sessions.get(OLD)
    with pytest.raises(palaver.SessionArchived):
        session.turn("hello")
    session.unarchive()
    say(session, "hello", "hi")
    assert texts(session.messages()) == ["long ago", "hello", "hi"]


def test_an_empty_session_can_begin(store: palaver.Store) -> None:
    session = store.sessions.get(EMPTY)
    say(session, "hello", "hi")
    assert kinds(session) == [("turn", 2)]
    assert_agrees(store)


def test_rewind_hides_their_rows_and_undo_gives_back_every_byte(store: palaver.Store) -> None:
    before = theirs(store.path)["chat_messages"]
    session = store.sessions.get(FULL)
    session.rewind(to=MESSAGE_IDS[1])
    assert texts(assert_agrees(store).transcripts[FULL]) == ["Be brief.", "How many?"]
    session.undo()
    after = theirs(store.path)["chat_messages"]
    assert without_updated_at(after) == without_updated_at(before)
    assert_agrees(store)


def test_undo_stops_before_what_was_there_is_taken_apart(store: palaver.Store) -> None:
    session = store.sessions.get(PLAIN)
    say(session, "four", "fourth answer")
    session.undo()
    assert texts(assert_agrees(store).transcripts[PLAIN]) == PLAIN_TALK


def test_regenerate_and_edit_work_on_their_messages(store: palaver.Store) -> None:
    session = store.sessions.get(PLAIN)
    with session.regenerate(MESSAGE_IDS[11]) as turn:
        stream(turn, "first, differently")
    assert texts(assert_agrees(store).transcripts[PLAIN]) == ["one", "first, differently"]
    with session.edit(MESSAGE_IDS[10], "one, put better") as turn:
        stream(turn, "oh")
    assert texts(assert_agrees(store).transcripts[PLAIN]) == ["one, put better", "oh"]


def test_a_fork_names_their_question_and_leaves_them_as_they_are(store: palaver.Store) -> None:
    before = theirs(store.path)
    session = store.sessions.get(PLAIN)
    fork = session.fork(at=MESSAGE_IDS[13])
    say(fork, "otherwise", "yes")
    assert texts(fork.messages()) == [*PLAIN_TALK[:4], "otherwise", "yes"]
    assert (fork.info.parent_id, fork.info.parent_message_id) == (PLAIN, MESSAGE_IDS[12])
    assert theirs(store.path) == before
    assert_agrees(store)


def test_their_branch_goes_on_by_itself(store: palaver.Store) -> None:
    branch = store.sessions.get(BRANCH)
    say(branch, "further", "and further")
    assert texts(assert_agrees(store).transcripts[BRANCH]) == ["another way", "gladly", "further", "and further"]


def test_delete_and_undelete_of_their_session_gives_back_every_byte(store: palaver.Store) -> None:
    before = theirs(store.path)
    session = store.sessions.get(PLAIN)
    session.delete()
    assert assert_agrees(store).transcripts[PLAIN] == []
    session.undelete()
    after = theirs(store.path)
    assert after["chat_sessions"] == before["chat_sessions"]
    assert without_updated_at(after["chat_messages"]) == without_updated_at(before["chat_messages"])
    assert texts(assert_agrees(store).transcripts[PLAIN]) == PLAIN_TALK


def test_the_other_program_reads_all_of_it_after_we_are_gone(foreign: str) -> None:
    with palaver.open(foreign) as store:
        say(store.sessions.get(PLAIN), "four", "fourth answer")
        store.sessions.get(FULL).rewind(to=MESSAGE_IDS[1])
    alone = judge_alone(foreign)
    assert alone.violations == []
    assert texts(alone.transcripts[PLAIN]) == [*PLAIN_TALK, "four", "fourth answer"]
    assert texts(alone.transcripts[FULL]) == ["Be brief.", "How many?"]


def test_adopting_everything_leaves_nothing_loose_and_nothing_to_verify(store: palaver.Store) -> None:
    store.sessions.get(OLD).unarchive()
    store.adopt()
    loose = (
        "SELECT id FROM chat_messages m WHERE NOT EXISTS (SELECT 1 FROM turn_entries e WHERE e.ref = m.id)"
        " AND json_extract(metadata_json, '$.hidden_at') IS NULL AND json_extract(metadata_json, '$.queued_at') IS NULL"
    )
    with judge.opened(store.path) as db:
        assert list(db.execute(loose)) == []
    assert_agrees(store)
    assert [p for p in store.verify() if "digest" in p.rule or "leaf" in p.rule] == []
