"""Rows 1 to 6 of the promise ledger: sessions, messages and parts are tables; what a session's row says and keeps."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import apsw
import pytest

import palaver
from palaver.db.queries import Q

from ..tools.planting import broken_by
from ..tools.sql import column, query, reading, writing
from .support_schema import TABLES, call, live, no_rows, talk, words

LISTS = ("list_recent", "list_by_agent", "list_by_workspace")
FILTERED = ("list_by_parent", "list_by_fact", "list_by_fact_updated", "list_updated_with_facts")


# ---------------------------------------------------------------- 1: three tables


def test_promise_001_the_list_query_reads_neither_messages_nor_parts(lived: str) -> None:
    with reading(lived) as db:
        for name in (*LISTS, *FILTERED):
            seen: set[str] = set()
            db.authorizer = _noting(seen)
            query = getattr(Q, name)
            db.execute(query.text, dict.fromkeys(query.names, 1)).fetchall()
            db.authorizer = None
            facts = {"session_facts"} if name in FILTERED else set()
            inside = {"session_rows", "s", "c", "w", ""}  # what a statement calls its own parts
            assert seen - inside == {"chat_sessions", "heads", "turns", "foreign_ids"} | facts, name


def _noting(seen: set[str]) -> Any:
    def authorize(code: int, table: str | None, *_: Any) -> int:
        if code == apsw.SQLITE_READ:
            seen.add(table or "")
        return apsw.SQLITE_OK

    return authorize


def test_promise_001_the_list_renders_with_the_parts_out_of_reach(lived: str) -> None:
    with palaver.open(lived) as store:
        before = [info for info in store.sessions]
    with writing(lived, foreign_keys=True) as db:
        for table in ("chat_parts", "chat_messages", "turn_entries"):
            db.execute(f"ALTER TABLE {table} RENAME TO {table}_gone")
    with palaver.open(lived) as store:
        assert [info for info in store.sessions] == before
    assert len(before) == 6


def test_promise_001_sessions_messages_and_parts_are_three_tables(lived: str) -> None:
    kinds = dict(query(lived, "SELECT name, type FROM sqlite_schema WHERE name LIKE 'chat\\_%' ESCAPE '\\'"))
    assert {name for name, kind in kinds.items() if kind == "table"} == set(TABLES)


# ---------------------------------------------------------------- 2: ids of sessions


def test_promise_002_every_session_id_we_mint_is_a_primary_key_with_its_prefix(lived: str) -> None:
    ids = column(lived, "SELECT id FROM chat_sessions")
    assert len(ids) == 8
    assert all(re.fullmatch(r"ses_[0-9a-f]{14}[0-9A-Za-z]{12}", one) for one in ids)
    assert [row[1] for row in query(lived, "PRAGMA table_info(chat_sessions)") if row[5]] == ["id"]


def test_promise_002_a_well_formed_free_id_is_used_and_a_duplicate_refused(store: palaver.Store) -> None:
    wanted = "ses_1a1e12ee73e001fW7SlrTg97TP"
    assert store.sessions.create("a", id=wanted).id == wanted
    with pytest.raises(palaver.BadValue, match="exists already"):
        store.sessions.create("a", id=wanted)
    assert query(store.path, "SELECT id FROM chat_sessions") == [(wanted,)]
    with writing(store.path, foreign_keys=True) as db, pytest.raises(apsw.ConstraintError):
        db.execute("INSERT INTO chat_sessions SELECT * FROM chat_sessions")


def test_promise_002_a_foreign_id_is_mapped_to_one_of_ours(store: palaver.Store) -> None:
    session = store.sessions.create("a", id="thread-42")
    assert re.fullmatch(r"ses_[0-9a-f]{14}[0-9A-Za-z]{12}", session.id)
    assert query(store.path, "SELECT foreign_id, id FROM foreign_ids") == [("thread-42", session.id)]
    assert store.sessions.get("thread-42").id == session.id
    with pytest.raises(palaver.BadValue, match="exists already"):
        store.sessions.create("b", id="thread-42")


def test_promise_002_a_row_that_another_program_wrote_keeps_its_id(store: palaver.Store) -> None:
    with writing(store.path, foreign_keys=True) as db:
        db.execute(
            "INSERT INTO chat_sessions (id, agent, model_json, created_at, updated_at)"
            " VALUES ('theirs-1', 'a', '{}', 5, 5)"
        )
    session = store.sessions.get("theirs-1")
    talk(session)
    assert column(store.path, "SELECT id FROM chat_sessions") == ["theirs-1"]
    assert column(store.path, "SELECT DISTINCT session_id FROM chat_messages") == ["theirs-1"]


# ---------------------------------------------------------------- 3, 4: agent, workspace


@broken_by("a_turn_changes_the_sessions_agent")
def test_promise_003_the_agent_never_changes_and_a_swap_shows_only_in_messages(store: palaver.Store) -> None:
    session = live(store)
    with session.turn("swap", agent="builder") as turn:
        words(turn)
    with pytest.raises(AttributeError):
        session.info.agent = "other"  # type: ignore[misc]
    agents = dict(query(store.path, "SELECT agent, count(*) FROM chat_sessions GROUP BY agent"))
    assert agents == {"coder": 7, "helper": 1}
    said = column(
        store.path,
        "SELECT metadata_json ->> 'agent' FROM chat_messages WHERE session_id = ? ORDER BY created_at DESC LIMIT 2",
        session.id,
    )
    assert said == ["builder", "builder"]


@broken_by("verify_does_not_know_who_opened_a_session")
def test_promise_003_verify_names_a_session_whose_agent_was_changed_by_hand(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    talk(session)
    fork = session.fork()
    assert store.verify() == []
    for one in (session, fork):
        with writing(store.path, foreign_keys=True) as db:
            db.execute("UPDATE chat_sessions SET agent = 'spy' WHERE id = ?", (one.id,))
        assert [(p.rule, p.where, p.copy) for p in store.verify()] == [("agent", one.id, False)]
        with writing(store.path, foreign_keys=True) as db:
            db.execute("UPDATE chat_sessions SET agent = 'coder'")


def test_promise_004_the_workspace_is_optional_and_empty_for_ad_hoc_sessions(store: palaver.Store) -> None:
    ad_hoc, rooted = store.sessions.create("a"), store.sessions.create("a", workspace="/home/me/ünï")
    stored = dict(query(store.path, "SELECT id, workspace_root FROM chat_sessions"))
    assert stored == {ad_hoc.id: None, rooted.id: "/home/me/ünï"}
    assert (ad_hoc.info.workspace, rooted.info.workspace) == (None, "/home/me/ünï")
    assert [info.id for info in store.sessions.list(workspace="/home/me/ünï").sessions] == [rooted.id]


# ---------------------------------------------------------------- 5: the model


@broken_by("the_model_is_not_refreshed")
def test_promise_005_model_json_is_the_model_of_the_latest_turn(store: palaver.Store) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    session = store.sessions.create("a", model="acme/zero")
    wanted: dict[str, Any] = {"provider_id": "acme", "model_id": "zero"}
    for _ in range(40):
        given = dice.choice((None, _model(dice)))
        wanted = given or wanted
        _turn_with_model(session, dice.choice(("stream", "commit", "usage", "waiting")), given)
        stored = column(store.path, "SELECT model_json FROM chat_sessions")
        assert json.loads(stored[0]) == wanted


def _model(dice: random.Random) -> dict[str, Any]:
    model = {"provider_id": dice.choice(("acme", "other")), "model_id": dice.choice(("one", "two", "three"))}
    return model | dice.choice(({}, {"variant": "fast"}))


def _turn_with_model(session: palaver.Session, how: str, model: Any) -> None:
    if how == "commit":
        session.commit("a question", model=model)
    elif how == "waiting":
        turn = session.turn("q", model=model)
        call(turn, "c")
        turn.write({"type": "finish"})
        turn.resolve("c", output=1)
        turn.seal()
    else:
        with session.turn("q", model=None if how == "usage" else model) as turn:
            words(turn)
            turn.usage(output=1, model=model if how == "usage" else None)


@pytest.mark.parametrize(
    "model", [{}, {"provider_id": "acme"}, {"model_id": "one"}, 5, [], {"provider_id": 5, "model_id": None}]
)
def test_promise_005_what_is_not_a_model_is_refused(store: palaver.Store, model: Any) -> None:
    with pytest.raises(palaver.BadValue):
        store.sessions.create("a", model=model)
    session = store.sessions.create("a")
    with pytest.raises(palaver.BadValue):
        session.turn("q", model=model)
    assert query(store.path, "SELECT model_json FROM chat_sessions") == [('{"provider_id":"","model_id":""}',)]


# ---------------------------------------------------------------- 6: the branch point


@broken_by("a_fork_names_its_last_message")
def test_promise_006_the_branch_point_is_a_user_message_of_the_parent(lived: str) -> None:
    no_rows(
        lived,
        "SELECT s.id FROM chat_sessions s WHERE s.parent_message_id IS NOT NULL AND NOT EXISTS (SELECT 1"
        " FROM chat_messages m WHERE m.id = s.parent_message_id AND m.session_id = s.parent_id AND m.role = 'user')",
    )
    assert query(lived, "SELECT count(*) FROM chat_sessions WHERE parent_message_id IS NOT NULL") == [(4,)]


@broken_by("a_fork_names_its_last_message")
def test_promise_006_forks_of_forks_and_sub_agents_name_the_nearest_question(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    session.commit([{"id": "msg_1a1e12ee73e001fW7SlrTg97T1", "content": "one"}, {"role": "assistant", "content": "1"}])
    fork = session.fork()
    again = fork.fork()
    spawned = store.sessions.create("helper", parent=session)
    empty = store.sessions.create("helper", parent=store.sessions.create("b"))
    stored = {
        row[0]: row[1:] for row in query(store.path, "SELECT id, parent_id, parent_message_id FROM chat_sessions")
    }
    for one in (fork, again, spawned):
        assert stored[one.id] == (session.id, "msg_1a1e12ee73e001fW7SlrTg97T1")
    assert stored[empty.id][1] is None
