"""What a turn had: its tools and rules are written down when it begins, and what comes later does not change them."""

from __future__ import annotations

import json
from typing import Any

import pytest

import palaver
from palaver.errors import BadRule, BadValue, TurnSealed

from ..tools.sql import query

PROJECT = {"permission": "write", "pattern": "/src/**", "action": "allow", "source": "project"}
MANIFEST = {"permission": "network", "pattern": "*", "action": "deny", "source": "manifest"}

# A turn that used what no rule granted it: by nothing but SQL.
BEYOND = """
SELECT t.id, used.value FROM turns t, json_each(t.facts_json, '$.permissions_used') AS used
WHERE NOT EXISTS (
    SELECT 1 FROM json_each(t.facts_json, '$.permissions_granted') AS granted
    WHERE granted.value ->> 'permission' IN ('*', used.value) AND granted.value ->> 'action' <> 'deny'
)"""


def facts(path: str, turn: str) -> dict[str, Any]:
    ((text,),) = query(path, "SELECT facts_json FROM turns WHERE id = ?", turn)
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.fixture
def session(store: palaver.Store) -> palaver.Session:
    return store.sessions.create("coder", id="one")


def test_tools_and_rules_are_written_down_with_the_turn(session: palaver.Session, path: str) -> None:
    own = session.permissions.add("bash", "git *")
    turn = session.turn("hello", toolset="coding", tools=["bash", "write"], permissions=[MANIFEST, PROJECT])
    found = facts(path, turn.id)
    assert (found["toolset_name"], found["tools_available"]) == ("coding", ["bash", "write"])
    assert found["permissions_granted"] == [MANIFEST, PROJECT, own]
    assert "permissions_used" not in found


def test_what_changes_later_does_not_change_an_old_turn(session: palaver.Session, path: str) -> None:
    session.permissions.add("bash", "git *")
    tools = ["bash"]
    with session.turn("one", toolset="small", tools=tools, permissions=[PROJECT]) as first:
        first.used("bash")
        before = facts(path, first.id)
        session.permissions.remove("bash")
        session.permissions.add("*", "*", "deny")
        tools.append("write")
    with session.turn("two", toolset="large", tools=tools) as second:
        second.write({"type": "start"})
    assert facts(path, first.id) == before
    assert facts(path, second.id)["tools_available"] == ["bash", "write"]
    assert [rule["action"] for rule in facts(path, second.id)["permissions_granted"]] == ["deny"]


def test_a_rule_without_a_source_given_with_a_turn_is_the_projects(session: palaver.Session, path: str) -> None:
    turn = session.turn("hello", permissions=[{"permission": "bash", "pattern": "*", "action": "ask"}])
    assert [rule["source"] for rule in facts(path, turn.id)["permissions_granted"]] == ["project"]


def test_rules_given_with_a_turn_are_not_the_sessions(session: palaver.Session, path: str) -> None:
    session.turn("hello", permissions=[MANIFEST, PROJECT]).seal()
    assert query(path, "SELECT permissions_json FROM chat_sessions") == [("[]",)]
    assert session.permissions.list() == []


def test_a_bad_rule_begins_no_turn(session: palaver.Session, path: str) -> None:
    with pytest.raises(BadRule):
        session.turn("hello", permissions=[PROJECT, {"tool": "bash", "pattern": "*", "action": "allow"}])
    assert query(path, "SELECT count(*) FROM turns") == [(0,)]
    assert session.messages() == []


@pytest.mark.parametrize("tools", ["bash", [1], [None]])
def test_tools_are_a_list_of_names(session: palaver.Session, path: str, tools: Any) -> None:
    with pytest.raises(BadValue):
        session.turn("hello", tools=tools)
    assert query(path, "SELECT count(*) FROM turns") == [(0,)]


@pytest.mark.parametrize("how", ["regenerate", "edit", "claim"])
def test_however_a_turn_begins_it_has_its_snapshot(session: palaver.Session, path: str, how: str) -> None:
    session.turn("hello").seal()
    own = session.permissions.add("bash")
    given: dict[str, Any] = {"toolset": "coding", "tools": ["bash"], "permissions": [PROJECT]}
    if how == "claim":
        session.enqueue("next")
        turn = session.claim(**given)
    elif how == "edit":
        turn = session.edit(session.messages()[0]["id"], "hello!", **given)
    else:
        turn = session.regenerate(**given)
    assert turn is not None
    found = facts(path, turn.id)
    assert (found["toolset_name"], found["tools_available"]) == ("coding", ["bash"])
    assert found["permissions_granted"] == [PROJECT, own]


def test_rules_given_with_a_queued_message_are_not_lost(session: palaver.Session, path: str) -> None:
    with pytest.raises(BadValue):  # refused like any bad rule, or because rules belong to the claim
        session.enqueue("next", permissions=[{"tool": "bash"}])
    assert session.queue() == []


def test_a_whole_turn_has_the_rules_that_were_in_force(session: palaver.Session, path: str) -> None:
    own = session.permissions.add("bash")
    info = session.commit("hello")
    assert facts(path, info.id)["permissions_granted"] == [own]


# ---------------------------------------------------------------- what it made use of


def test_each_permission_used_is_noted_once_in_order(session: palaver.Session, path: str) -> None:
    turn = session.turn("hello", permissions=[PROJECT])
    for permission in ("write", "bash", "write"):
        turn.used(permission)
    assert facts(path, turn.id)["permissions_used"] == ["write", "bash"]
    turn.seal()
    assert facts(path, turn.id)["permissions_used"] == ["write", "bash"]
    with pytest.raises(TurnSealed):
        turn.used("network")


@pytest.mark.parametrize("bad", [None, "", 7, "a\x00b"])
def test_a_permission_that_was_used_has_a_name(session: palaver.Session, path: str, bad: Any) -> None:
    turn = session.turn("hello")
    with pytest.raises(BadValue):
        turn.used(bad)
    assert "permissions_used" not in facts(path, turn.id)


def test_plain_sql_finds_what_was_used_beyond_what_was_granted(session: palaver.Session, path: str) -> None:
    star = {"permission": "*", "pattern": "*", "action": "ask", "source": "project"}
    for granted, used in [([PROJECT], ["write"]), ([star], ["anything"]), ([], []), ([MANIFEST], [])]:
        with session.turn("fine", permissions=granted) as turn:
            for permission in used:
                turn.used(permission)
    assert query(path, BEYOND) == []
    beyond = []
    for granted in ([PROJECT], [], [MANIFEST]):
        with session.turn("not fine", permissions=granted) as turn:
            turn.used("network")
            beyond.append((turn.id, "network"))
    assert sorted(query(path, BEYOND)) == sorted(beyond)


def test_the_turn_that_goes_on_after_a_compaction_has_the_same(session: palaver.Session, path: str) -> None:
    session.turn("hello").seal()
    turn = session.turn("more", toolset="coding", permissions=[PROJECT])
    turn.used("write")
    turn.append([{"type": "start-step"}, {"type": "finish-step"}])
    following = turn.compact("what was said")
    assert following.id != turn.id
    for one in (turn.id, following.id):
        assert facts(path, one)["permissions_granted"] == [PROJECT]
        assert facts(path, one)["toolset_name"] == "coding"
    following.seal()
