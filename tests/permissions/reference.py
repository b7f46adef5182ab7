"""The slow matcher that the fast one must agree with: tries everything, remembers nothing. Only for small texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Token = Callable[[str], bool] | None  # None: a star


def text(pattern: str, given: str) -> bool:
    return _fits(_tokens(pattern), given, lambda token, one: token(one))


def names(pattern: Sequence[str], given: Sequence[str]) -> bool:
    """Names of a path or labels of a host; `**` is any number of them, a lone `*` too."""
    if list(pattern) == ["*"]:
        return True
    return _fits([None if name == "**" else name for name in pattern], given, text)


def _fits(pattern: Sequence[Any], given: Sequence[Any], one: Callable[[Any, Any], bool]) -> bool:
    if not pattern:
        return not given
    if pattern[0] is None:
        return any(_fits(pattern[1:], given[at:], one) for at in range(len(given) + 1))
    return bool(given) and one(pattern[0], given[0]) and _fits(pattern[1:], given[1:], one)


def _tokens(pattern: str) -> list[Token]:
    if not pattern:
        return []
    first, rest = pattern[0], pattern[1:]
    if first == "*":
        return [None, *_tokens(rest)]
    if first == "?":
        return [lambda _: True, *_tokens(rest)]
    if first == "[":
        negated = rest[:1] in ("!", "^")
        body = rest[1:] if negated else rest
        close = body.find("]", 1)
        if close > 0:
            members = _members(body[:close])
            return [lambda c: (c in members) != negated, *_tokens(body[close + 1 :])]
    return [lambda c: c == first, *_tokens(rest)]


def _members(body: str) -> set[str]:
    if len(body) >= 3 and body[1] == "-":
        return {chr(code) for code in range(ord(body[0]), ord(body[2]) + 1)} | _members(body[3:])
    return {body[0]} | _members(body[1:]) if body else set()
