"""Permissions: what an agent may do, by rules of three scopes. Pure: rules in, an answer with its reason out.

A rule has the contract's fields: `permission` (a tool id, a capability, or "*"), `pattern` (a glob over argv, a path or
a host), `action` (allow, deny, ask), `source` (manifest, project, session). Manifest and project rules are the host's
and never stored; a session's own live in `permissions_json`.

The most specific rule decides: session before project before manifest; then a named permission before "*", the longer
literal pattern before the shorter; between equals the stricter action. A deny of the manifest cannot be loosened. Where
no rule fits the answer is ask; with nobody to ask, ask means deny.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from . import canonical, edge, globs
from .errors import BadRule, BadValue
from .globs import literal_length, match_argv, match_host, match_path

ACTIONS = ("allow", "deny", "ask")
SOURCES = ("manifest", "project", "session")  # from the least specific to the most
_STRICT = {"allow": 0, "ask": 1, "deny": 2}
_FIELDS = ("permission", "pattern", "action", "source")
_NEAR = {"tool": "permission", "glob": "pattern", "effect": "action", "decision": "action", "scope": "source"}


class Answer(msgspec.Struct, frozen=True):
    """What may be done, and why: the rule that decided (None: no rule fits) and where it came from."""

    action: str
    source: str | None
    rule: dict[str, Any] | None
    reason: str

    @property
    def allowed(self) -> bool:
        return self.action == "allow"


def check_rule(given: Any, source: str = "session") -> dict[str, Any]:
    """A rule as it is stored; fields of others are kept, the four must be right."""
    rule = canonical.parse(canonical.encode(given))
    if not isinstance(rule, dict):
        raise BadRule(f"a rule is an object, not {type(rule).__name__}")
    rule.setdefault("source", source)
    for wrong, right in _NEAR.items():
        if wrong in rule:
            raise BadRule(f"a rule has no field {wrong!r}; the contract calls it {right!r}")
    for name in _FIELDS:
        if not isinstance(rule.get(name), str) or not rule[name]:
            raise BadRule(f"a rule needs a text {name!r}")
    if rule["action"] not in ACTIONS:
        raise BadRule(f"action is {', '.join(ACTIONS)}, not {edge.shown(rule['action'])}")
    if rule["source"] not in SOURCES:
        raise BadRule(f"source is {', '.join(SOURCES)}, not {edge.shown(rule['source'])}")
    globs.check(rule["pattern"])
    canonical.check({"permissions_granted": [rule]})  # as each turn keeps it: a rule must not keep turns from beginning
    added = rule.get("added_at")
    if added is not None and (type(added) is not int or added < 0):
        raise BadRule(f"added_at is epoch milliseconds, not {edge.shown(added)}")
    return rule


def usable(stored: Any) -> list[dict[str, Any]]:
    """The rules in what a session's column holds. What is no rule allows nothing, and is not an answer."""
    found = []
    for each in stored if isinstance(stored, list) else ():
        try:
            found.append(check_rule(each))
        except BadValue:  # another program's; it stays where it is
            continue
    return [rule for rule in found if rule["source"] == "session"]


def check_rules(given: Iterable[Any] | None, source: str) -> list[dict[str, Any]]:
    """The host's rules of one scope."""
    edge.text("source", source)
    rules = [] if given is None else [check_rule(rule, source) for rule in edge.several("rules", given)]
    for rule in rules:
        if rule["source"] != source:
            raise BadRule(f"a {rule['source']} rule was given among the {source} rules")
    return rules


def evaluate(
    permission: str,
    rules: Sequence[dict[str, Any]],
    *,
    argv: Sequence[str] | str | None = None,
    path: str | None = None,
    host: str | None = None,
    headless: bool = False,
) -> Answer:
    """May this be done? `rules` of all scopes, each with its source; what it is about: a command, a path or a host."""
    edge.text("permission", permission)
    edge.text_or_none("path", path)
    edge.text_or_none("host", host)
    for rule in edge.several("rules", rules):
        _refuse_broken(rule)
    fitting = [rule for rule in rules if _fits(rule, permission, argv, path, host)]
    for rule in fitting:
        if rule["source"] == "manifest" and rule["action"] == "deny":
            return _answer(rule, "the manifest denies it, and nothing can loosen that", headless)
    if not fitting:
        action = "deny" if headless else "ask"
        return Answer(action, None, None, "no rule fits" + ("; there is nobody to ask" if headless else ""))
    return _answer(max(fitting, key=_rank), "the most specific rule that fits", headless)


def _refuse_broken(rule: Any) -> None:
    """The host gives rules that `check_rule` has seen; these were not."""
    is_whole = isinstance(rule, dict) and all(isinstance(rule.get(name), str) for name in _FIELDS)
    if not is_whole or rule["action"] not in ACTIONS or rule["source"] not in SOURCES:
        raise BadRule(f"{edge.shown(rule)} is not a rule of permission, pattern, action and source; see check_rule()")


def _answer(rule: dict[str, Any], reason: str, headless: bool) -> Answer:
    if rule["action"] == "ask" and headless:
        return Answer("deny", rule["source"], rule, f"{reason}, asks; there is nobody to ask")
    return Answer(rule["action"], rule["source"], rule, reason)


def _rank(rule: dict[str, Any]) -> tuple[int, bool, int, int]:
    named = rule["permission"] != "*"
    return (
        SOURCES.index(rule["source"]),
        named,
        literal_length(rule["pattern"]),
        _STRICT[rule["action"]],
    )


def _fits(
    rule: dict[str, Any], permission: str, argv: Sequence[str] | str | None, path: str | None, host: str | None
) -> bool:
    if rule["permission"] not in ("*", permission):
        return False
    pattern = rule["pattern"]
    if argv is None and path is None and host is None:
        return bool(pattern == "*" or pattern == "**")
    return (
        (argv is None or match_argv(pattern, argv))
        and (path is None or match_path(pattern, path))
        and (host is None or match_host(pattern, host))
    )
