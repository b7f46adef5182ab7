"""Permission rules and what a turn had of them (rows 41, 154 to 157 and 175)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

import palaver
from palaver import permissions
from palaver.errors import BadRule
from palaver.permissions import globs
from tests.permissions import attempts, reference, table
from tests.permissions.test_globs import steps

from ..tools.planting import broken_by
from ..tools.sql import one, query

RULE = {"permission": "bash", "pattern": "git *", "action": "allow"}
GRANTED = {"permission": "write", "pattern": "/src/**", "action": "allow", "source": "project"}


def facts(path: str, turn: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(one(path, "SELECT facts_json FROM turns WHERE id = ?", turn))
    return found


def column(path: str) -> Any:
    return json.loads(one(path, "SELECT permissions_json FROM chat_sessions"))


# ---------------------------------------------------------------- 41


@broken_by("snapshots_name_the_rules_of_now")
def test_promise_041_what_a_turn_had_is_a_snapshot(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("coder")
    own = session.permissions.add("bash", "git *")
    with session.turn("one", toolset="small", tools=["bash"], permissions=[GRANTED]) as first:
        first.used("write")
    session.permissions.remove("bash")
    session.permissions.add("*", "*", "deny")
    with session.turn("two", toolset="large", tools=["bash", "write"]):
        pass
    found = facts(path, first.id)
    assert (found["toolset_name"], found["tools_available"]) == ("small", ["bash"])
    assert (found["permissions_granted"], found["permissions_used"]) == ([GRANTED, own], ["write"])


AUDIT = """
SELECT t.id, used.value FROM turns t, json_each(t.facts_json, '$.permissions_used') AS used
WHERE NOT EXISTS (
    SELECT 1 FROM json_each(t.facts_json, '$.permissions_granted') AS granted
    WHERE granted.value ->> 'permission' IN ('*', used.value) AND granted.value ->> 'action' <> 'deny'
)"""


@broken_by("what_was_used_is_not_noted")
def test_promise_041_a_query_flags_what_was_used_without_being_granted(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("coder")
    with session.turn("within", permissions=[GRANTED]) as turn:
        turn.used("write")
    assert query(path, AUDIT) == []
    with session.turn("beyond", permissions=[GRANTED]) as turn:
        turn.used("write")
        turn.used("network")
    assert query(path, AUDIT) == [(turn.id, "network")]


# ---------------------------------------------------------------- 154, 155, 156


def test_promise_154_a_rule_has_four_fields_by_their_names_and_added_at(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("coder")
    session.permissions.add(**RULE)
    (stored,) = column(path)
    assert set(stored) == {"permission", "pattern", "action", "source", "added_at"}
    assert {key: stored[key] for key in RULE} == RULE and type(stored["added_at"]) is int


@broken_by("any_field_name_will_do")
@pytest.mark.parametrize(
    "other", [("permission", "tool"), ("pattern", "glob"), ("action", "effect"), ("action", "decision")]
)
def test_promise_154_other_names_are_refused(store: palaver.Store, path: str, other: tuple[str, str]) -> None:
    session = store.sessions.create("coder")
    right, wrong = other
    renamed = {wrong if key == right else key: value for key, value in RULE.items()}
    with pytest.raises(BadRule):
        permissions.check_rule(renamed)
    with pytest.raises(BadRule):
        session.turn("hello", permissions=[renamed])
    with pytest.raises(BadRule):
        session.permissions.add(**{"permission": "bash", wrong: "deny"})
    assert column(path) == [] and query(path, "SELECT * FROM turns") == []


@broken_by("fields_of_others_are_dropped")
def test_promise_154_unknown_extra_fields_are_kept(store: palaver.Store, path: str) -> None:
    more = {"reason": "naïve 漢字", "x-host": {"by": ["ann", 1, None]}}
    session = store.sessions.create("coder")
    session.permissions.add(**RULE, **more)
    session.permissions.add("write")
    assert {key: column(path)[0][key] for key in more} == more


@pytest.mark.parametrize("action", ["allow", "deny", "ask", "Allow", "permit", "", None, 1])
def test_promise_155_an_action_is_allow_deny_or_ask(store: palaver.Store, path: str, action: Any) -> None:
    session = store.sessions.create("coder")
    if action in ("allow", "deny", "ask"):
        session.permissions.add("bash", "*", action)
        assert [rule["action"] for rule in column(path)] == [action]
    else:
        with pytest.raises(BadRule):
            session.permissions.add("bash", "*", action)
        assert column(path) == []


@pytest.mark.parametrize("source", ["manifest", "project", "session"])
def test_promise_155_a_source_is_manifest_project_or_session(source: str) -> None:
    assert permissions.check_rule({**RULE, "source": source})["source"] == source
    with pytest.raises(BadRule):
        permissions.check_rule({**RULE, "source": source.title()})


@broken_by("a_rule_is_the_projects_by_default")
def test_promise_155_the_source_is_session_by_default(store: palaver.Store, path: str) -> None:
    assert permissions.check_rule(RULE)["source"] == "session"
    store.sessions.create("coder").permissions.add(**RULE)
    assert [rule["source"] for rule in column(path)] == ["session"]


@broken_by("rules_of_every_scope_are_stored")
@pytest.mark.parametrize("source", ["manifest", "project"])
def test_promise_156_only_session_rules_live_in_the_column(store: palaver.Store, path: str, source: str) -> None:
    session = store.sessions.create("coder")
    with pytest.raises(BadRule):
        session.permissions.add(**RULE, source=source)
    hosts: dict[str, Any] = {source: [RULE]}
    assert session.permissions.evaluate("bash", argv="git push", **hosts).source == source
    session.turn("hello", permissions=[{**RULE, "source": source}]).seal()
    assert column(path) == []


# ---------------------------------------------------------------- 157


def asked(pattern: str, **about: Any) -> bool:
    rule = {"permission": "*", "pattern": pattern, "action": "allow", "source": "session"}
    return permissions.evaluate("anything", [rule], **about).allowed


@broken_by("a_star_does_not_stop_at_a_slash", "names_are_not_normalised")
def test_promise_157_a_pattern_is_a_glob_over_commands_paths_and_hosts() -> None:
    wrong = [row for row in table.ARGV if asked(row[0], argv=row[1]) is not row[2]]
    wrong += [row for row in table.PATH if asked(row[0], path=row[1]) is not row[2]]
    wrong += [row for row in table.HOST if asked(row[0], host=row[1]) is not row[2]]
    assert wrong == []


def all_over(alphabet: str, longest: int) -> Iterator[str]:
    return ("".join(each) for length in range(longest + 1) for each in product(alphabet, repeat=length))


@broken_by("the_last_place_is_taken_first")
def test_promise_157_it_fits_what_trying_everything_would_fit() -> None:
    """Every pattern of up to five characters, against every text of up to four."""
    texts = list(all_over("ab", 4))
    for pattern in all_over("ab*?", 5):
        wrong = [text for text in texts if globs.match_argv(pattern, text) is not reference.text(pattern, text)]
        assert wrong == [], pattern


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("*" * 100_000 + "b", "a" * 100_000), ("a*" * 40_000 + "b", "a" * 80_000), ("*" * 100_000, "a" * 100_000)],
    ids=["stars", "letters and stars", "only stars"],
)
def test_promise_157_a_hundred_thousand_stars_take_a_few_steps_for_each(pattern: str, text: str) -> None:
    answer, count = steps(globs.match_argv, pattern, text, 20 * (len(pattern) + len(text)))
    assert answer is (pattern[-1] == "*") and count > 0


# ---------------------------------------------------------------- 175

GIT, ALL, NO_RM = (
    {"permission": "bash", "pattern": pattern, "action": action, "source": "session"}
    for pattern, action in [("git *", "allow"), ("*", "allow"), ("rm *", "deny")]
)


def answers(lines: list[str], *rules: dict[str, Any]) -> dict[str, list[str]]:
    """Which answers there were, and to which lines."""
    found: dict[str, list[str]] = {}
    for line in lines:
        found.setdefault(permissions.evaluate("bash", rules, argv=line).action, []).append(line)
    return found


@broken_by("a_line_is_its_first_command", "redirections_are_covered", "what_cannot_be_parsed_is_matched_as_text")
def test_promise_175_a_permission_for_a_command_is_not_one_for_a_line_that_begins_with_it() -> None:
    assert len(attempts.BEGINS_WITH_GIT) >= 60
    assert answers(attempts.BEGINS_WITH_GIT, GIT).keys() == {"ask"}
    assert answers(attempts.ARE_GIT, GIT).keys() == {"allow"}


@broken_by("a_deny_is_only_for_the_words_as_they_stand", "what_cannot_be_parsed_is_matched_as_text")
def test_promise_175_a_deny_is_not_got_round_by_another_spelling() -> None:
    assert len(attempts.DENIED) >= 60
    assert answers(attempts.DENIED, ALL, NO_RM).keys() == {"deny"}
    assert answers(attempts.ASKED, ALL, NO_RM).keys() == {"ask"}
    assert answers(attempts.ARGUMENTS, ALL, NO_RM).keys() == {"allow"}


@broken_by("a_line_is_its_first_command")
def test_promise_175_a_session_answers_in_the_same_way(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    session.permissions.add(**RULE)
    allowed = [line for line in attempts.BEGINS_WITH_GIT if session.permissions.evaluate("bash", argv=line).allowed]
    assert allowed == []
