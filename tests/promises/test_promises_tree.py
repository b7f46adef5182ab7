"""Deleting and archiving (rows 84 to 88): nothing that somebody still reads goes away, and both can be undone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import apsw
import pytest

import palaver

from ..tools.planting import broken_by
from ..tools.sql import everything, one, query
from ..tools.talk import texts
from .support_tree import Walk, answers

STEPS = pytest.mark.parametrize("steps", [40, pytest.param(1_000, marks=pytest.mark.long)])

# ---------------------------------------------------------------- foreign keys


@pytest.fixture
def connections() -> Iterator[list[apsw.Connection]]:
    """Every connection that this process makes from here on."""
    made: list[apsw.Connection] = []
    apsw.connection_hooks.append(made.append)
    yield made
    apsw.connection_hooks.remove(made.append)


def use(store: palaver.Store) -> None:
    """Write, and read with three readers at once."""
    session = store.sessions.create("a")
    answers(session.turn("hello"), "hi")
    with store.db.read(), store.db.read(), store.db.read():
        assert len(session.messages()) == 2


def keys_are_enforced(connection: apsw.Connection) -> bool:
    return connection.pragma("foreign_keys") == 1


@broken_by("foreign_keys_are_off", "foreign_keys_are_off_for_readers")
def test_promise_084_foreign_keys_are_on_in_every_connection(path: str, connections: list[apsw.Connection]) -> None:
    for _ in range(2):
        with palaver.open(path) as store:
            use(store)
            assert len(connections) >= 5
            assert [keys_are_enforced(connection) for connection in connections] == [True] * len(connections)
        connections.clear()


@broken_by("foreign_keys_are_off")
def test_promise_084_a_row_without_its_parent_is_refused(path: str, connections: list[apsw.Connection]) -> None:
    with palaver.open(path):
        (writer, *_) = connections
        with pytest.raises(apsw.ConstraintError):
            writer.execute("INSERT INTO chat_messages VALUES ('msg_x', 'ses_none', 'user', '{}', 1, 1)")
    with palaver.open(":memory:") as store:
        store.sessions.create("a")
        assert keys_are_enforced(connections[-1])


# ---------------------------------------------------------------- delete

DANGLING = "SELECT id FROM chat_sessions WHERE parent_id NOT IN (SELECT id FROM chat_sessions)"


@pytest.fixture
def parent(store: palaver.Store) -> palaver.Session:
    session = store.sessions.create("a", title="parent")
    for n in (1, 2):
        answers(session.turn(f"question {n}"), f"answer {n}")
    return session


@broken_by("delete_takes_the_children", "delete_takes_the_rows")
def test_promise_085_deleting_a_parent_keeps_its_children(store: palaver.Store, parent: palaver.Session) -> None:
    fork, helper = parent.fork(at=parent.messages()[1]), store.sessions.create("helper", parent=parent)
    answers(helper.turn("look"), "found")
    parent.delete()
    with pytest.raises(palaver.SessionNotFound):
        store.sessions.get(parent.id)
    assert texts(store.sessions.get(fork.id)) == ["question 1", "answer 1"]
    assert texts(store.sessions.get(helper.id)) == ["look", "found"]
    assert {info.id for info in store.sessions} == {fork.id, helper.id}
    answers(fork.turn("go on"), "gladly")
    assert texts(fork)[2:] == ["go on", "gladly"]


def test_promise_085_children_keep_their_parent_while_its_husk_stays(
    store: palaver.Store, parent: palaver.Session
) -> None:
    fork, helper = parent.fork(), store.sessions.create("helper", parent=parent)
    parent.delete()
    assert query(store.path, "SELECT DISTINCT parent_id FROM chat_sessions WHERE id IN (?, ?)", fork.id, helper.id) == [
        (parent.id,)
    ]
    assert query(store.path, DANGLING) == []
    row = query(
        store.path,
        "SELECT h.turn_id, h.deleted_at > 0, s.archived_at > 0, s.metadata_json ->> 'deleted_at' = h.deleted_at "
        "FROM heads h JOIN chat_sessions s ON s.id = h.session_id WHERE s.id = ?",
        parent.id,
    )
    assert row == [(None, 1, 1, 1)]


@STEPS
@broken_by("delete_takes_the_rows")
def test_promise_085_no_delete_takes_anything_from_another_session(store: palaver.Store, steps: int) -> None:
    walk = Walk(store)

    def check() -> None:
        walk.agree()
        assert query(store.path, DANGLING) == []
        assert one(store.path, "SELECT count(*) FROM chat_sessions") == len(walk.shows)

    walk.run(steps, check)


# ---------------------------------------------------------------- archive


def lists(store: palaver.Store, parent: palaver.Session, **given: Any) -> list[set[str]]:
    """What every way to list shows."""
    filters: list[dict[str, Any]] = [{}, {"agent": "a"}, {"workspace": "/w"}, {"parent": parent}]
    filters += [{"agent": "a", "workspace": "/w"}, {"parent": parent, "agent": "a"}]
    return [{info.id for info in store.sessions.list(**one, **given).sessions} - {parent.id} for one in filters]


@broken_by("lists_show_archived_sessions")
def test_promise_086_lists_leave_archived_sessions_out_unless_asked(store: palaver.Store) -> None:
    parent = store.sessions.create("a", workspace="/w")
    here, gone = (store.sessions.create("a", workspace="/w", parent=parent) for _ in range(2))
    gone.archive()
    assert lists(store, parent) == [{here.id}] * 6
    assert lists(store, parent, archived=True) == [{here.id, gone.id}] * 6
    assert {info.id for info in store.sessions} == {parent.id, here.id}


def pages(store: palaver.Store, archived: bool) -> list[str]:
    found, after = [], None
    while True:
        page = store.sessions.list(limit=3, after=after, archived=archived)
        found += [info.id for info in page.sessions]
        after = page.next
        if after is None:
            return found


@broken_by("lists_show_archived_sessions")
def test_promise_086_pages_leave_archived_sessions_out_and_lose_no_other(store: palaver.Store) -> None:
    made = [store.sessions.create("a") for _ in range(20)]
    for session in made[::3]:
        session.archive()
    kept = [session.id for n, session in enumerate(made) if n % 3]
    assert sorted(pages(store, False)) == sorted(kept)
    assert sorted(pages(store, True)) == sorted(session.id for session in made)


def listed(path: str, *options: str) -> set[str]:
    """What `palaver ls` prints."""
    run = subprocess.run(
        [sys.executable, "-m", "palaver", "ls", "--store", path, "--json", *options],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return {info["id"] for info in json.loads(run.stdout)["sessions"]}


def test_promise_086_the_command_line_leaves_archived_sessions_out_unless_asked(path: str) -> None:
    with palaver.open(path) as store:
        here, gone = store.sessions.create("a"), store.sessions.create("a")
        gone.archive()
    assert listed(path) == listed(path, "--agent", "a") == {here.id}
    assert listed(path, "--all") == {here.id, gone.id}


def test_promise_086_a_deleted_session_is_in_no_list(store: palaver.Store, parent: palaver.Session) -> None:
    parent.delete()
    assert pages(store, False) == pages(store, True) == []


def facts(store: palaver.Store) -> list[Any]:
    """Everything but what archiving itself writes: two columns, two events and their numbers."""
    tables = ("chat_messages", "chat_parts", "turns", "turn_entries", "reflog", "aliases")
    found = everything(store.path)
    rows = [found[table] for table in tables]
    columns = (
        "id, agent, workspace_root, model_json, parent_id, parent_message_id, metadata_json, total_tokens, created_at"
    )
    rows.append(query(store.path, f"SELECT {columns} FROM chat_sessions ORDER BY id"))
    rows.append(query(store.path, "SELECT session_id, turn_id, revision, title, deleted_at FROM heads ORDER BY 1"))
    return rows


def test_promise_087_archiving_deletes_nothing_and_can_be_undone(store: palaver.Store, parent: palaver.Session) -> None:
    before, transcript = facts(store), parent.messages_json()
    parent.archive()
    assert one(store.path, "SELECT archived_at FROM chat_sessions") == parent.info.archived_at is not None
    assert (facts(store), parent.messages_json()) == (before, transcript)
    parent.unarchive()
    assert one(store.path, "SELECT archived_at FROM chat_sessions") is None
    assert (facts(store), parent.messages_json()) == (before, transcript)
    answers(parent.turn("still there?"), "yes")
    assert texts(parent)[-2:] == ["still there?", "yes"]


@STEPS
def test_promise_087_archived_sessions_read_as_before_among_all_other_verbs(store: palaver.Store, steps: int) -> None:
    walk = Walk(store)

    def check() -> None:
        walk.agree()
        away = query(
            store.path,
            "SELECT s.id FROM chat_sessions s JOIN heads h ON h.session_id = s.id "
            "WHERE s.archived_at > 0 AND h.deleted_at IS NULL",
        )
        assert {row[0] for row in away} == walk.archived

    walk.run(steps, check)


REFUSED: dict[str, Callable[[palaver.Session], object]] = {
    "turn": lambda s: s.turn("hello"),
    "commit": lambda s: s.commit("hello"),
    "regenerate": lambda s: s.regenerate(),
    "edit": lambda s: s.edit(s.messages()[0]["id"], "hello"),
    "rewind": lambda s: s.rewind(to=s.messages()[0]["id"]),
    "undo": lambda s: s.undo(),
    "redo": lambda s: s.redo(),
    "move": lambda s: s.move(None, expected=s.revision),
}


@pytest.mark.parametrize("verb", REFUSED)
@broken_by("archived_sessions_take_writes")
def test_promise_088_an_archived_session_is_read_only(store: palaver.Store, parent: palaver.Session, verb: str) -> None:
    parent.archive()
    before, transcript = facts(store), parent.messages_json()
    with pytest.raises(palaver.SessionArchived):
        REFUSED[verb](parent)
    assert (facts(store), parent.messages_json()) == (before, transcript)


def test_promise_088_a_turn_that_was_open_before_may_finish(store: palaver.Store, parent: palaver.Session) -> None:
    turn = parent.turn("one last thing")
    parent.archive()
    answers(turn, "here it is")
    assert texts(parent)[-2:] == ["one last thing", "here it is"]
    assert turn.status == "completed"
    with pytest.raises(palaver.SessionArchived):
        parent.turn("and another")


def test_promise_088_a_turn_that_waits_may_be_answered(store: palaver.Store, parent: palaver.Session) -> None:
    turn = parent.turn("may I?")
    turn.wait()
    parent.archive()
    answers(parent.resume(turn.id), "you may")
    assert texts(parent)[-2:] == ["may I?", "you may"]
    with pytest.raises(palaver.SessionArchived):
        parent.commit("and this?")
