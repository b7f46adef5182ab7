"""A session's own rules: in `permissions_json`, in the contract's shape, and nothing else of it touched.

The column is read by plain SQL, and written as another program would write it.
"""

from __future__ import annotations

import json
import threading
from contextlib import closing
from typing import Any

import apsw
import pytest

import palaver
from palaver.errors import BadRule, PalaverError, SessionArchived, SessionNotFound


def column(path: str, session: palaver.Session) -> str:
    with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        query = "SELECT permissions_json FROM chat_sessions WHERE id = ?"
        ((text,),) = connection.execute(query, (session.id,)).fetchall()
        return str(text)


def put(path: str, text: str) -> None:
    with closing(apsw.Connection(path)) as connection:
        connection.execute("UPDATE chat_sessions SET permissions_json = ?", (text,))


@pytest.fixture
def session(store: palaver.Store) -> palaver.Session:
    return store.sessions.create("coder", id="one")


# ---------------------------------------------------------------- what is stored


def test_without_rules_the_column_is_an_empty_list(session: palaver.Session, path: str) -> None:
    assert column(path, session) == "[]"
    assert session.permissions.list() == []


def test_a_rule_is_stored_in_the_shape_of_the_contract(session: palaver.Session, path: str) -> None:
    session.permissions.add("bash", "git *", "allow")
    (stored,) = json.loads(column(path, session))
    added_at = stored.pop("added_at")
    assert stored == {"permission": "bash", "pattern": "git *", "action": "allow", "source": "session"}
    assert type(added_at) is int and added_at > 1_600_000_000_000


def test_rules_keep_their_order_and_fields_of_others(session: palaver.Session, path: str) -> None:
    session.permissions.add("write", "/etc/**", "deny", reason="naïve 漢字", added_at=5)
    session.permissions.add("bash", action="ask")
    stored = json.loads(column(path, session))
    assert stored == session.permissions.list()
    assert stored[0] == {
        "permission": "write",
        "pattern": "/etc/**",
        "action": "deny",
        "reason": "naïve 漢字",
        "added_at": 5,
        "source": "session",
    }
    assert (stored[1]["permission"], stored[1]["pattern"], stored[1]["action"]) == ("bash", "*", "ask")


def test_the_same_rule_again_changes_nothing(session: palaver.Session, path: str) -> None:
    first = session.permissions.add("bash", "git *")
    before = column(path, session)
    assert session.permissions.add("bash", "git *") == first
    assert column(path, session) == before


def test_the_last_rule_gone_it_is_an_empty_list_again(session: palaver.Session, path: str) -> None:
    session.permissions.add("bash", "git *")
    assert session.permissions.remove("bash") == 1
    assert column(path, session) == "[]"


def test_remove_takes_what_is_named_and_says_how_many(session: palaver.Session) -> None:
    for pattern, action in [("a", "allow"), ("a", "deny"), ("b", "allow")]:
        session.permissions.add("bash", pattern, action)
    session.permissions.add("write", "a")
    assert session.permissions.remove("bash", "a", "deny") == 1
    assert session.permissions.remove("bash", "nothing") == 0
    assert [(r["permission"], r["pattern"]) for r in session.permissions.list()] == [
        ("bash", "a"),
        ("bash", "b"),
        ("write", "a"),
    ]
    assert session.permissions.remove("bash") == 2


@pytest.mark.parametrize(
    "given",
    [
        {"source": "manifest"},
        {"source": "project"},
        {"source": "other"},
        {"action": "perhaps"},
        {"effect": "deny"},
        {"decision": "deny"},
        {"glob": "rm *"},
        {"tool": "bash"},
        {"scope": "session"},
        {"added_at": "now"},
        {"pattern": ""},
    ],
    ids=str,
)
def test_a_bad_rule_is_refused_and_nothing_is_changed(session: palaver.Session, path: str, given: Any) -> None:
    session.permissions.add("bash", "git *")
    before, seen = column(path, session), session.events(0)
    with pytest.raises(BadRule):
        session.permissions.add("bash", **given)
    assert (column(path, session), session.events(0)) == (before, seen)


def test_rules_of_the_host_are_asked_but_never_stored(session: palaver.Session, path: str) -> None:
    session.permissions.add("bash", "git *")
    before = column(path, session)
    answer = session.permissions.evaluate(
        "bash",
        argv=["git", "push"],
        manifest=[{"permission": "bash", "pattern": "git push*", "action": "deny"}],
        project=[{"permission": "*", "pattern": "*", "action": "allow"}],
    )
    assert (answer.action, answer.source) == ("deny", "manifest")
    assert column(path, session) == before


def test_the_answer_comes_from_all_three_scopes(session: palaver.Session) -> None:
    ask = session.permissions.evaluate
    project = [{"permission": "bash", "pattern": "git *", "action": "allow"}]
    assert ask("bash", argv="git push").action == "ask"
    assert ask("bash", argv="git push", project=project).source == "project"
    own = session.permissions.add("bash", "git *", "deny")
    answer = ask("bash", argv="git push", project=project)
    assert (answer.action, answer.source, answer.rule) == ("deny", "session", own)
    assert ask("network", headless=True).action == "deny"


def test_rules_are_one_sessions_own(store: palaver.Store, session: palaver.Session, path: str) -> None:
    session.permissions.add("bash")
    other = store.sessions.create("coder", id="two")
    assert other.permissions.list() == []
    assert column(path, other) == "[]"
    with session.turn("hello"):
        pass
    assert column(path, session.fork()) == "[]"


def test_rules_are_there_when_the_store_is_opened_again(path: str) -> None:
    with palaver.open(path) as store:
        rule = store.sessions.create("coder", id="one").permissions.add("bash", "git *")
    with palaver.open(path) as store:
        assert store.sessions.get("one").permissions.list() == [rule]


def test_rules_of_many_threads_are_all_kept(session: palaver.Session) -> None:
    threads = [threading.Thread(target=session.permissions.add, args=("bash", f"tool{n} *")) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert {rule["pattern"] for rule in session.permissions.list()} == {f"tool{n} *" for n in range(12)}


def test_an_archived_session_keeps_its_rules_as_they_are(session: palaver.Session, path: str) -> None:
    session.permissions.add("bash")
    session.archive()
    before = column(path, session)
    for change in (lambda: session.permissions.add("write"), lambda: session.permissions.remove("bash")):
        with pytest.raises(SessionArchived):
            change()
    assert column(path, session) == before
    assert session.permissions.evaluate("bash").allowed


def test_a_session_that_is_gone_has_no_rules(store: palaver.Store, session: palaver.Session, path: str) -> None:
    with closing(apsw.Connection(path)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("DELETE FROM chat_sessions")
    with pytest.raises(SessionNotFound):
        session.permissions.list()


# ---------------------------------------------------------------- what others wrote there

DENY = {"permission": "bash", "pattern": "*", "action": "deny"}
ODD_LISTS: list[list[Any]] = [
    [1, "x", None, {"a": 1}, []],
    [{**DENY, "action": "perhaps", "source": "session"}],
    [{**DENY, "source": "other"}],
    [{**DENY, "source": None}],
    [{**DENY, "permission": ["bash"]}],
    [{**DENY, "pattern": 4}],
    [{"tool": "bash", "glob": "*", "effect": "allow"}],
]


@pytest.mark.parametrize("odd", ODD_LISTS, ids=json.dumps)
def test_what_is_no_rule_stays_where_it_is_and_allows_nothing(session: palaver.Session, path: str, odd: Any) -> None:
    put(path, json.dumps(odd))
    assert session.permissions.evaluate("bash", argv="ls").action in ("ask", "deny")
    session.permissions.add("write", "/tmp/**")
    stored = json.loads(column(path, session))
    assert stored[:-1] == odd and stored[-1]["permission"] == "write"
    assert session.permissions.evaluate("write", path="/tmp/a").allowed
    assert session.permissions.remove("write") == 1
    assert json.loads(column(path, session)) == odd


def test_a_rule_that_names_no_source_is_the_sessions(session: palaver.Session, path: str) -> None:
    put(path, json.dumps([DENY]))
    answer = session.permissions.evaluate("bash", argv="ls")
    assert (answer.action, answer.source) == ("deny", "session")


FLAWS: list[dict[str, Any]] = [
    {"added_at": "2024-01-01"},
    {"added_at": -1},
    {"added_at": None},
    {"effect": "deny"},
    {"scope": "session", "tool": 5},
]


@pytest.mark.parametrize("action", ["deny", "ask"])
@pytest.mark.parametrize("flaw", FLAWS, ids=json.dumps)
def test_a_stored_deny_with_a_flaw_beside_its_four_fields_still_denies(
    session: palaver.Session, path: str, action: str, flaw: dict[str, Any]
) -> None:
    strict = {"permission": "bash", "pattern": "rm *", "action": action, "source": "session", **flaw}
    put(path, json.dumps([{"permission": "bash", "pattern": "*", "action": "allow", "source": "session"}, strict]))
    answer = session.permissions.evaluate("bash", argv="rm x")
    assert (answer.action, answer.rule) == (action, strict)
    assert strict in session.permissions.list()
    turn = session.turn("hello")
    turn.seal()
    assert session.permissions.evaluate("bash", argv="ls").allowed


def test_a_stored_allow_with_a_flaw_allows_nothing(session: palaver.Session, path: str) -> None:
    put(path, json.dumps([{"permission": "bash", "pattern": "*", "action": "allow", "effect": "deny"}]))
    assert session.permissions.evaluate("bash", argv="ls").action == "ask"


NO_LISTS = ['{"permission":"bash"}', '"text"', "5", "true", "not json", ""]


@pytest.mark.parametrize("text", NO_LISTS)
def test_a_column_that_is_no_list_is_said_clearly_and_left_alone(
    session: palaver.Session, path: str, text: str
) -> None:
    put(path, text)
    with pytest.raises(PalaverError):
        session.permissions.add("bash")
    assert column(path, session) == text
    try:
        assert session.permissions.evaluate("bash").action in ("ask", "deny")
    except PalaverError as said:
        assert str(said)


@pytest.mark.parametrize("text", [*NO_LISTS, "null"])
def test_a_column_that_is_no_list_may_have_held_a_deny_and_nothing_is_allowed(
    session: palaver.Session, path: str, text: str
) -> None:
    put(path, text)
    everything = [{"permission": "*", "pattern": "*", "action": "allow"}]
    with pytest.raises(BadRule, match="permissions_json of this session is not a list of rules"):
        session.permissions.evaluate("bash", argv="rm x", project=everything)
    with pytest.raises(BadRule, match="is not a list of rules"):
        session.permissions.list()
    session.turn("hello").seal()
    session.commit("and more")
    assert len(session.messages()) == 2


@pytest.mark.parametrize("text", [*NO_LISTS, *map(json.dumps, ODD_LISTS)])
def test_whatever_is_in_the_column_a_turn_begins_or_says_why_not(
    session: palaver.Session, path: str, text: str
) -> None:
    put(path, text)
    try:
        session.turn("hello").seal()
    except PalaverError as said:
        assert str(said) and session.messages() == []
    else:
        assert len(session.messages()) == 1
