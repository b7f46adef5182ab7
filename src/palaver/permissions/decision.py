"""Permissions: what an agent may do, by rules of three scopes. Pure: rules in, an answer with its reason out.

A rule has the contract's fields: `permission` (a tool id, a capability, or "*"), `pattern` (a glob over argv, a path or
a host), `action` (allow, deny, ask), `source` (manifest, project, session). Manifest and project rules are the host's
and never stored; a session's own live in `permissions_json`.

The most specific rule decides: session before project before manifest; then a named permission before "*", the longer
literal pattern before the shorter; between equals the stricter action. A deny of the manifest cannot be loosened. Where
no rule fits the answer is ask; with nobody to ask, ask means deny.

A command given as a list is one command. Given as a text it is a shell line: each simple command in it must be allowed
by its own words, and the strictest answer is the answer. A rule that denies or asks also reaches what a command runs
besides itself. What cannot be parsed is allowed only by `*` and by its own text, where no stricter rule might fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from shlex import quote
from typing import Any, NamedTuple

import msgspec

from ..base import arguments, exact_json
from ..errors import BadRule, BadValue
from . import globs, shell_line, wrappers
from .globs import literal_length, match_argv, match_host, match_path
from .shell_line import Budget, Command

ACTIONS = ("allow", "deny", "ask")
SOURCES = ("manifest", "project", "session")  # from the least specific to the most
_STRICT = {"allow": 0, "ask": 1, "deny": 2}
_DONE = {"allow": "allowed", "ask": "to be asked about", "deny": "denied"}
_SHOWN = 60  # characters of a command in a reason, and so words at most
_ONLY_EXPANDS = re.compile(r"[\w@%+=:,./~*?\[\]-]+")  # what `quote` leaves alone, and what a shell expands
_FIELDS = ("permission", "pattern", "action", "source")
_NEAR = {"tool": "permission", "glob": "pattern", "effect": "action", "decision": "action", "scope": "source"}


class Answer(msgspec.Struct, frozen=True):
    """What may be done, and why: the rule that decided (None: no rule fits) and where it came from.

    The reason names the command of a shell line that decided, and the rule. Nothing in it acts on a terminal."""

    action: str
    source: str | None
    rule: dict[str, Any] | None
    reason: str

    @property
    def allowed(self) -> bool:
        return self.action == "allow"


def check_rule(given: Any, source: str = "session") -> dict[str, Any]:
    """A rule as it is stored; fields of others are kept, the four must be right."""
    rule = exact_json.parse(exact_json.encode(given))
    if not isinstance(rule, dict):
        raise BadRule(f"a rule is an object, not {type(rule).__name__}")
    rule.setdefault("source", source)
    for wrong, right in _NEAR.items():
        if wrong in rule:
            raise BadRule(f"a rule has no field {wrong!r}; the contract calls it {right!r}")
    _check_fields(rule)
    globs.check(rule["pattern"])
    exact_json.check(
        {"permissions_granted": [rule]}
    )  # as each turn keeps it: a rule must not keep turns from beginning
    added = rule.get("added_at")
    if added is not None and (type(added) is not int or added < 0):
        raise BadRule(f"added_at is epoch milliseconds, not {arguments.shown(added)}")
    return rule


def _check_fields(rule: dict[str, Any]) -> None:
    for name in _FIELDS:
        if not isinstance(rule.get(name), str) or not rule[name]:
            raise BadRule(f"a rule needs a text {name!r}")
    if rule["action"] not in ACTIONS:
        raise BadRule(f"action is {', '.join(ACTIONS)}, not {arguments.shown(rule['action'])}")
    if rule["source"] not in SOURCES:
        raise BadRule(f"source is {', '.join(SOURCES)}, not {arguments.shown(rule['source'])}")


def usable(stored: Any) -> list[dict[str, Any]]:
    """The rules in what a session's column holds. What is no rule is another program's: it stays where it is."""
    found = [_in_force(each) for each in stored] if isinstance(stored, list) else []
    return [rule for rule in found if rule is not None and rule["source"] == "session"]


def _in_force(given: Any) -> dict[str, Any] | None:
    """A flaw takes an allow out of force. A deny or an ask stays in force as long as its four fields can be read."""
    try:
        return check_rule(given)
    except BadValue:
        return _still_strict(given) if isinstance(given, dict) else None


def _still_strict(given: dict[str, Any]) -> dict[str, Any] | None:
    rule = {"source": "session"} | given
    try:
        _check_fields(rule)
    except BadRule:
        return None
    return _as_kept(rule) if rule["action"] != "allow" else None


def _as_kept(rule: dict[str, Any]) -> dict[str, Any]:
    """As a turn can keep it: where its other fields are too deep for that, without them."""
    try:
        exact_json.check({"permissions_granted": [rule]})
    except BadValue:
        return {name: rule[name] for name in _FIELDS}
    return rule


def check_rules(given: Iterable[Any] | None, source: str) -> list[dict[str, Any]]:
    """The host's rules of one scope."""
    arguments.text("source", source)
    rules = [] if given is None else [check_rule(rule, source) for rule in arguments.several(source, given)]
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
    arguments.text("permission", permission)
    arguments.flag("headless", headless)
    _check_argv(argv)
    _check_place("path", path)
    _check_host(host)
    if sum(given is not None for given in (argv, path, host)) > 1:
        raise BadValue("ask about one of argv, path and host at a time: a rule is for one of them")
    for rule in arguments.several("rules", rules):
        _refuse_broken(rule)
    line = argv if isinstance(argv, str) else None
    voices = [_voice(rule, line) for rule in rules if _is_about(rule, permission, path, host)]
    if argv is not None:
        found = _judge_command(argv, voices)
    elif path is None and host is None:
        found = _contest([voice for voice in voices if voice.fits_all], "it")
    else:
        found = _contest(voices, f"`{_cut(path or host or '')}`")
    found = msgspec.structs.replace(found, reason=_visible(found.reason))
    return _without_anybody(found) if headless else found


def _check_argv(argv: Any) -> None:
    if argv is None or isinstance(argv, str):
        return
    if not isinstance(argv, list | tuple) or not all(isinstance(word, str) for word in argv):
        raise BadValue(f"argv is a shell line (a text) or one command (a list of texts), not {arguments.shown(argv)}")


def _check_place(name: str, given: Any) -> None:
    if given is not None and "\0" in arguments.text(name, given):
        raise BadValue(f"{name} has a NUL in it, and no {name} has: {arguments.shown(given)}")


def _check_host(host: Any) -> None:
    """A URL would be fitted by `*` alone, and slip through every deny of its host."""
    _check_place("host", host)
    if host is not None and "/" in host:
        found = _host_of(host)
        raise BadValue(
            f"host is {arguments.shown(host)}; give the host alone{f', {arguments.shown(found)}' if found else ''}"
        )


def _host_of(url: str) -> str | None:
    from urllib.parse import urlsplit  # only for the sentence

    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _refuse_broken(rule: Any) -> None:
    """The host gives rules that `check_rule` has seen; these were not."""
    is_whole = isinstance(rule, dict) and all(isinstance(rule.get(name), str) for name in _FIELDS)
    if not is_whole or rule["action"] not in ACTIONS or rule["source"] not in SOURCES:
        raise BadRule(
            f"{arguments.shown(rule)} is not a rule of permission, pattern, action and source; see check_rule()"
        )


def _is_about(rule: dict[str, Any], permission: str, path: str | None, host: str | None) -> bool:
    return (
        rule["permission"] in ("*", permission)
        and (path is None or match_path(rule["pattern"], path))
        and (host is None or match_host(rule["pattern"], host))
    )


def _without_anybody(found: Answer) -> Answer:
    if found.action != "ask":
        return found
    return msgspec.structs.replace(found, action="deny", reason=f"{found.reason}; there is nobody to ask")


# ---------------------------------------------------------------- which rule decides


class _Voice(NamedTuple):
    """A rule that has a say, and how much."""

    rule: dict[str, Any]
    rank: tuple[bool, int, bool, int, int]
    fits_all: bool  # `*`, or the whole line to the letter

    @property
    def allows(self) -> bool:
        return bool(self.rule["action"] == "allow")

    def fits(self, text: str) -> bool:
        return self.fits_all or match_argv(self.rule["pattern"], text)


def _voice(rule: dict[str, Any], line: str | None) -> _Voice:
    pattern, length = rule["pattern"], literal_length(rule["pattern"])
    final = rule["source"] == "manifest" and rule["action"] == "deny"
    rank = (final, SOURCES.index(rule["source"]), rule["permission"] != "*", length, _STRICT[rule["action"]])
    return _Voice(rule, rank, pattern in ("*", "**") or (pattern == line and length == len(pattern)))


def _contest(voices: Sequence[_Voice], subject: str) -> Answer:
    """The most specific decides; a deny of the manifest goes before all."""
    if not voices:
        return Answer("ask", None, None, "no rule fits")
    rule = max(voices, key=lambda voice: voice.rank).rule
    return Answer(rule["action"], rule["source"], rule, f"{subject} is {_by(rule)}")


def _by(rule: dict[str, Any]) -> str:
    """What a rule does, and which it is."""
    final = ", and nothing can loosen that" if (rule["source"], rule["action"]) == ("manifest", "deny") else ""
    return (
        f"{_DONE[rule['action']]} by the rule {rule['permission']} `{_cut(rule['pattern'])}` ({rule['source']}){final}"
    )


def _strictest(answers: Sequence[Answer]) -> Answer:
    return max(answers, key=lambda answer: _STRICT[answer.action])


# ---------------------------------------------------------------- commands


class _Matter(NamedTuple):
    """A piece of what is asked about that is judged by itself: mostly a simple command."""

    text: str
    said: str  # how a reason names it
    is_all: bool = True  # there is nothing else that could be meant
    name: str | None = None  # what a pattern must begin with to allow it; None: only `*` and the line itself do
    behind: Sequence[Command] = ()  # the commands it runs besides itself
    unread: str | None = None


def _judge_command(argv: Sequence[str] | str, voices: Sequence[_Voice]) -> Answer:
    matters = _matters_of_line(argv) if isinstance(argv, str) else [_matter_of_list(argv)]
    answers = [_judge(matter, voices) for matter in matters]
    found = _strictest(answers)
    if len(matters) > 1 or matters[0].name is None:
        return _about_line(argv, found, answers)
    return found


def _about_line(line: Sequence[str] | str, found: Answer, answers: Sequence[Answer]) -> Answer:
    """An answer to more than one simple command says so."""
    rule, reason = found.rule, found.reason
    if rule is not None and rule["pattern"] == line and all(answer.rule is rule for answer in answers):
        reason = f"the whole line is {_by(rule)}"
    elif found.allowed and len(answers) > 1:
        reason = f"each of its {len(answers)} commands is allowed; {reason}"
    return msgspec.structs.replace(found, reason=reason)


def _matter_of_list(argv: Sequence[str]) -> _Matter:
    """One command, whatever is in its words; a name with a blank in it is fitted only by a pattern that says it."""
    name = argv[0] if argv and len(argv[0].split()) > 1 else ""
    return _matter(Command(argv), Budget(), "")._replace(name=name, is_all=True)


def _matters_of_line(text: str) -> list[_Matter]:
    budget = Budget()
    line = shell_line.read(text, budget)
    if line.unread is None and line.commands:
        distinct = {_frozen(each): each for each in line.commands}
        return [_matter(each, budget, text) for each in distinct.values()]
    behind = [one for each in line.commands for one in (each, *wrappers.behind(each, budget).commands)]
    return [_Matter(text, f"`{_cut(text)}`", behind=behind, unread=line.unread)]


def _frozen(command: Command) -> Command:
    """All of it as a key: `eval echo *` has the words of `eval echo '*'`, and runs something else."""
    words, assignments, files, expanding = command
    return Command(tuple(words), tuple(assignments), tuple(files), expanding)


def _matter(command: Command, budget: Budget, line: str) -> _Matter:
    inner, text = wrappers.behind(command, budget), command.text
    if command.files:
        said = f"{_quoted(command)} with a redirection of `{_cut(command.files[0])}`"
        return _Matter(text, said, False, None, inner.commands, inner.unread)
    return _Matter(text, _quoted(command), text == line, "", inner.commands, inner.unread)


def _judge(matter: _Matter, voices: Sequence[_Voice]) -> Answer:
    """By the rules that fit it as it stands; then by those stricter ones that fit only what lies behind it."""
    fitting = [voice for voice in voices if _fits(voice, matter)]
    found = _contest(fitting, matter.said)
    answers = [msgspec.structs.replace(found, reason=found.reason + _detail(matter, found))]
    weighed = {id(voice.rule) for voice in fitting if not voice.allows}
    others = [voice for voice in voices if id(voice.rule) not in weighed]
    if not all(voice.allows for voice in others):
        answers += _objections(matter, others)
    return _strictest(answers)


def _detail(matter: _Matter, found: Answer) -> str:
    """What no rule fits, where that is a part of what is asked about; why it was taken as one text, where it was."""
    if found.rule is None and not matter.is_all:
        return f": {matter.said}"
    unparsed = matter.name is None and matter.is_all and matter.unread is not None
    return f"; it cannot be parsed: {matter.unread}" if unparsed else ""


def _fits(voice: _Voice, matter: _Matter) -> bool:
    if voice.allows and not voice.fits_all:
        return matter.name is not None and voice.rule["pattern"].startswith(matter.name) and voice.fits(matter.text)
    return voice.fits(matter.text)


def _objections(matter: _Matter, voices: Sequence[_Voice]) -> Iterator[Answer]:
    for command in matter.behind:
        text = command.text
        fitting = [voice for voice in voices if voice.fits(text)]
        if fitting and not max(fitting, key=lambda voice: voice.rank).allows:
            yield _contest(fitting, f"{_quoted(command)} in {matter.said}")
    if matter.unread is not None:
        loudest = max((voice.rank for voice in voices if voice.fits_all), default=None)
        strict = [voice for voice in voices if not voice.allows and (loudest is None or voice.rank > loudest)]
        if strict:
            found = _contest(strict, "what it might be")
            reason = f"{matter.said} cannot be parsed: {matter.unread}; {found.reason}"
            yield msgspec.structs.replace(found, action="ask", reason=reason)


# ---------------------------------------------------------------- how a reason quotes


def _quoted(command: Command) -> str:
    """With quotes where the words need them. From the first word that a shell would expand on, globs have none."""
    bare = len(command.words) if command.expanding is None else command.expanding
    sets = [each.partition("=") for each in command.assignments[:_SHOWN]]
    words = [_cut(word) for word in command.words[:_SHOWN]]
    shown = [word if at >= bare and _ONLY_EXPANDS.fullmatch(word) else quote(word) for at, word in enumerate(words)]
    return f"`{_cut(' '.join([*(f'{name}={quote(_cut(value))}' for name, _, value in sets), *shown]))}`"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _visible(text: str) -> str:
    """Nothing in it is invisible, turns text around or moves a cursor: that is shown as \\u{202e}."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)
