"""What a check finds: a problem, and how it is mended where it is a copy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...model import Problem
from .. import damage
from .mending import Repair, Work


class Finding(NamedTuple):
    problem: Problem
    work: Work | None = None


def wrong(rule: str, where: str, what: str) -> Finding:
    """Truth that was altered."""
    return Finding(Problem(rule, where, what))


def stale(rule: str, where: str, what: str, session_id: str, repair: Repair, rank: int = 0) -> Finding:
    """A copy that is not what it is a copy of."""
    return Finding(Problem(rule, where, what, copy=True), Work(session_id, rank, repair))


def check_json(where: str, text: Any, kind: type = dict) -> Iterator[Finding]:
    value = damage.parsed(text)
    if value is None:
        yield wrong("json", where, f"{where} is not valid JSON")
    elif not isinstance(value, kind):
        yield wrong("json", where, f"{where} is JSON, but no {'object' if kind is dict else 'list'}")


def wrong_types(turn_id: Any, row: tuple[Any, ...], known: tuple[str, ...] = ()) -> Iterator[Finding]:
    """Columns of a turn that hold another type than theirs; those in `known` are named elsewhere."""
    where = damage.as_text(turn_id)
    for name in damage.unsound(row):
        if name not in known:
            yield wrong("type", where, f"{name} of turn {where} is {getattr(row, name)!r:.40}, which it cannot be")
