"""The steps of a source on their way in, and where each of its turns ends up."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from ..core.read.natives import Key
from .values import GraftItem, GraftMove, GraftTurn

REMEMBERED = 50_000  # items of a session whose turns are in memory


class End:
    """Where a turn of the source ends here: in which turn of ours. None: it is not placed yet; `is_inside`: its items
    are the beginning of a longer turn of ours, so that nothing of it is new, and nothing ends there yet. A turn that
    was left out ends where the one before it does (`actual`)."""

    __slots__ = ("_before", "is_inside", "step", "turn_id")

    def __init__(self, step: Step | None, turn_id: str | None = None) -> None:
        self.step = step
        self.turn_id = turn_id
        self.is_inside = False
        self._before: End | None = None

    @property
    def actual(self) -> End:
        end = self
        while end._before is not None:
            end = end._before
        return end

    def leave_out(self, before: End) -> None:
        self.step, self._before = None, before

    def put(self, turn_id: str | None, *, is_inside: bool = False) -> None:
        self.turn_id, self.is_inside = turn_id, is_inside
        if not is_inside:
            self.step = None  # its bodies are not needed any more


ROOT = End(None)  # before everything


class Step:
    """A turn of the source: what its items are known by, what it comes after, and where it ends."""

    __slots__ = ("end", "given", "items", "keys", "parent", "size")

    def __init__(self, given: GraftTurn, items: list[GraftItem], keys: list[Key], parent: End | str) -> None:
        self.given = given
        self.items = items
        self.keys = keys
        self.parent = parent  # a text: an item that has not come yet
        self.end = End(self)
        self.size = sum(len(item.body) for item in items)

    @property
    def last(self) -> str:
        return self.keys[-1].item


class Move(NamedTuple):
    """The source's head went somewhere, by its own word."""

    given: GraftMove
    end: End | str


class Recent(OrderedDict[str, object]):
    """The newest of very many."""

    def remember(self, name: str, value: object) -> None:
        self[name] = value
        self.move_to_end(name)
        if len(self) > REMEMBERED:
            self.popitem(last=False)


def in_order(orphans: list[Step], placed: dict[str, End]) -> tuple[list[Step], list[Step]]:
    """Those whose parents have come by now, each behind its parent; and the others."""
    below: dict[object, list[Step]] = {}
    for step in orphans:
        if isinstance(step.parent, str):
            step.parent = placed.get(step.parent, step.parent)
        below.setdefault(step.parent, []).append(step)
    waiting = {step.end for step in orphans}
    ready = [step for step in orphans if isinstance(step.parent, End) and step.parent not in waiting]
    for step in ready:  # grows while it is gone through
        ready += below.get(step.end, [])
    reached = {step.end for step in ready}
    return ready, [step for step in orphans if step.end not in reached]


def is_circle(step: Step, left: list[Step]) -> bool:
    """Whether the parents of a turn lead back to it."""
    by_end = {each.end: each for each in left}
    at, seen = step, set[End]()
    while isinstance(at.parent, End) and at.parent in by_end and at.end not in seen:
        seen.add(at.end)
        at = by_end[at.parent]
        if at is step:
            return True
    return False
