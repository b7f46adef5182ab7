"""The most specific rule decides, whatever the order; a deny of the manifest stands; without a rule it is asked."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

import palaver
from palaver import permissions
from palaver.errors import BadRule, BadValue
from palaver.permissions import Answer, check_rule, check_rules

Rule = dict[str, Any]


def rule(action: str, pattern: str = "*", permission: str = "bash", source: str = "session", **more: Any) -> Rule:
    return {"permission": permission, "pattern": pattern, "action": action, "source": source, **more}


def evaluate(*rules: Rule, headless: bool = False, permission: str = "bash", argv: str = "git push") -> Answer:
    """In every order: the answer may not depend on it."""
    answers = [permissions.evaluate(permission, each, argv=argv, headless=headless) for each in permutations(rules)]
    assert all(answer == answers[0] for answer in answers)
    return answers[0]


MANIFEST, PROJECT, SESSION = ({"source": source} for source in ("manifest", "project", "session"))


# ---------------------------------------------------------------- which rule decides


@pytest.mark.parametrize(
    ("strong", "weak"),
    [
        (rule("allow"), rule("deny", **PROJECT)),
        (rule("deny"), rule("allow", **PROJECT)),
        (rule("ask"), rule("allow", "git push", **MANIFEST)),
        (rule("allow", **PROJECT), rule("ask", "git push", **MANIFEST)),
        (rule("deny", **PROJECT), rule("allow", "git push", **MANIFEST)),
        (rule("allow", permission="*"), rule("deny", "git push", **PROJECT)),
        (rule("allow"), rule("deny", "git push", permission="*")),
        (rule("allow", "git *"), rule("deny", "*")),
        (rule("deny", "git push"), rule("allow", "git *")),
        (rule("allow", "git pus?"), rule("deny", "git *")),
        (rule("deny"), rule("allow")),
        (rule("deny"), rule("ask")),
        (rule("ask"), rule("allow")),
        (rule("deny", "git*push"), rule("allow", "git?push")),
    ],
    ids=str,
)
def test_the_more_specific_rule_decides(strong: Rule, weak: Rule) -> None:
    answer = evaluate(strong, weak)
    assert (answer.action, answer.source, answer.rule) == (strong["action"], strong["source"], strong)


def test_a_deny_of_the_manifest_cannot_be_loosened() -> None:
    deny = rule("deny", "*", "*", "manifest")
    loosening = [rule("allow", "git push", source=s) for s in ("session", "project", "manifest")]
    answer = evaluate(deny, *loosening)
    assert (answer.action, answer.source, answer.rule) == ("deny", "manifest", deny)
    assert "manifest" in answer.reason and not answer.allowed


def test_a_deny_of_the_manifest_for_something_else_says_nothing() -> None:
    assert evaluate(rule("deny", "rm *", **MANIFEST), rule("allow")).allowed
    assert evaluate(rule("deny", permission="write", **MANIFEST), rule("allow")).allowed


def test_a_deny_of_the_project_can_be_loosened_by_the_session() -> None:
    assert evaluate(rule("deny", "git push", **PROJECT), rule("allow", "*")).allowed


def test_rules_for_another_tool_do_not_fit() -> None:
    assert evaluate(rule("allow", permission="bash2"), rule("allow", permission="Bash")).rule is None


# ---------------------------------------------------------------- nobody says anything, or nobody is there


def test_without_a_rule_that_fits_it_is_asked() -> None:
    assert evaluate() == Answer("ask", None, None, "no rule fits")
    assert evaluate(rule("allow", "ls *")).action == "ask"


def test_without_a_rule_and_with_nobody_to_ask_it_is_denied() -> None:
    answer = evaluate(headless=True)
    assert (answer.action, answer.source, answer.rule) == ("deny", None, None)
    assert "no rule fits" in answer.reason and "nobody to ask" in answer.reason


def test_a_rule_that_asks_denies_when_there_is_nobody_to_ask_and_says_so() -> None:
    asks = rule("ask", "git *", **PROJECT)
    answer = evaluate(asks, headless=True)
    assert (answer.action, answer.source, answer.rule) == ("deny", "project", asks)
    assert "nobody to ask" in answer.reason


@pytest.mark.parametrize("action", ["allow", "deny"])
def test_with_nobody_to_ask_what_is_decided_stays_decided(action: str) -> None:
    assert evaluate(rule(action), headless=True) == evaluate(rule(action))


def test_every_answer_has_a_reason() -> None:
    answers = [evaluate(), evaluate(rule("allow")), evaluate(rule("deny", **MANIFEST)), evaluate(headless=True)]
    assert all(answer.reason for answer in answers)
    assert len({answer.reason for answer in answers}) == 4


# ---------------------------------------------------------------- what it is about


def test_a_pattern_is_looked_for_in_whatever_is_asked_about() -> None:
    rules = [rule("allow", "/src/**"), rule("deny", "*.evil.org")]
    assert permissions.evaluate("bash", rules, path="/src/a.py").allowed
    assert permissions.evaluate("bash", rules, host="www.EVIL.org").action == "deny"
    assert permissions.evaluate("bash", rules, path="/src/../etc/passwd").action == "ask"


@pytest.mark.parametrize(("pattern", "fits"), [("*", True), ("**", True), ("git *", False), ("?", False)])
def test_a_capability_as_such_is_only_meant_by_a_star(pattern: str, fits: bool) -> None:
    assert permissions.evaluate("network", [rule("allow", pattern, "network")]).allowed is fits


@pytest.mark.parametrize(
    "about",
    [{"argv": "rm x", "host": "example.org"}, {"argv": ["rm"], "path": "/x"}, {"path": "/x", "host": "example.org"}],
    ids=str,
)
def test_one_thing_is_asked_about_at_a_time(about: dict[str, Any]) -> None:
    """A deny of `rm *` does not fit a host; together with one it would deny nothing."""
    with pytest.raises(BadValue, match="one of argv, path and host"):
        permissions.evaluate("bash", [rule("allow"), rule("deny", "rm *")], **about)


@pytest.mark.parametrize(
    "argv",
    [5, [1, 2], ["rm", None], b"x", [b"rm"], {"a": 1}, {"rm"}, iter(["rm"]), True],
    ids=lambda argv: str(argv)[:10],
)
def test_a_command_is_a_text_or_a_list_of_texts(argv: Any) -> None:
    with pytest.raises(BadValue, match="argv is"):
        permissions.evaluate("bash", [rule("allow")], argv=argv)
    assert permissions.evaluate("bash", [rule("allow", "git *")], argv=("git", "log")).allowed


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"path": "/etc\0/passwd"}, "path .* NUL"),
        ({"host": "a\0.org"}, "host .* NUL"),
        ({"host": "http://a.example.com"}, "give the host alone, 'a.example.com'"),
        ({"host": "https://a.example.com:80/x?y"}, "give the host alone, 'a.example.com'"),
        ({"host": "http://u@[::1"}, "give the host alone"),
        ({"host": "//a.example.com/x"}, "give the host alone, 'a.example.com'"),
    ],
    ids=str,
)
def test_what_is_no_path_and_no_host_is_refused_with_a_sentence(about: dict[str, Any], said: str) -> None:
    with pytest.raises(BadValue, match=said):
        permissions.evaluate("bash", [rule("allow"), rule("deny", "*.example.com")], **about)


@pytest.mark.parametrize("source", ["project", "manifest"])
def test_rules_that_are_none_are_named_as_the_caller_names_them(store: palaver.Store, source: str) -> None:
    with pytest.raises(BadValue, match=f"^{source} is a list"):
        store.sessions.create("coder").permissions.evaluate("bash", **{source: "x"})


@pytest.mark.parametrize("path", ["../x", "//etc/passwd", "/", "", "a/../../b"])
def test_what_is_denied_altogether_is_denied_for_every_path(path: str) -> None:
    rules = [rule("deny", "*", **MANIFEST), rule("allow", "**")]
    assert permissions.evaluate("bash", rules, path=path).action == "deny"


# ---------------------------------------------------------------- what a rule is


GOOD = {"permission": "bash", "pattern": "git *", "action": "allow"}


def without(name: str, **instead: Any) -> Rule:
    return {key: value for key, value in GOOD.items() if key != name} | instead


@pytest.mark.parametrize(
    "bad",
    [
        without("permission", tool="bash"),
        without("permission", Permission="bash"),
        without("pattern", glob="git *"),
        without("action", effect="allow"),
        without("action", decision="allow"),
        {**GOOD, "scope": "session"},
        {**GOOD, "effect": "deny"},
        {**GOOD, "glob": "rm *"},
        without("permission"),
        without("pattern"),
        without("action"),
        {**GOOD, "permission": ""},
        {**GOOD, "pattern": ""},
        {**GOOD, "permission": 7},
        {**GOOD, "pattern": None},
        {**GOOD, "pattern": ["git *"]},
        {**GOOD, "action": "Allow"},
        {**GOOD, "action": "permit"},
        {**GOOD, "source": "user"},
        {**GOOD, "source": ""},
        {**GOOD, "added_at": "today"},
        {**GOOD, "added_at": -1},
        {**GOOD, "added_at": 1.5},
        {**GOOD, "added_at": True},
        "bash",
        ["bash", "*", "allow"],
        None,
    ],
    ids=str,
)
def test_what_is_not_a_rule_is_refused(bad: Any) -> None:
    with pytest.raises(BadRule):
        check_rule(bad)


@pytest.mark.parametrize("source", ["manifest", "project", "session"])
def test_a_rule_without_a_source_has_that_of_its_place(source: str) -> None:
    assert check_rule(GOOD, source) == {**GOOD, "source": source}


def test_fields_of_others_are_kept() -> None:
    more = {"reason": "because", "x-host": {"by": ["ann", 1, None]}, "added_at": 5}
    assert check_rule({**GOOD, **more}) == {**GOOD, **more, "source": "session"}


def test_what_was_given_is_not_changed() -> None:
    given = dict(GOOD)
    check_rule(given)
    assert given == GOOD


def test_a_rule_among_those_of_another_scope_is_refused() -> None:
    with pytest.raises(BadRule, match="session rule"):
        check_rules([{**GOOD, "source": "session"}], "manifest")
    assert check_rules(None, "project") == []
