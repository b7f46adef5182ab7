"""The tree of turns, read once and numbered, so that one look tells whether a turn is on the way to another.

Turns get their numbers on a walk from the roots that goes down before it goes on: what comes from a turn has the
numbers right after its own. A turn whose parent is gone counts as a root. Forged parents may go round in a circle: it
is cut at one of its turns, which is kept to be named. Memory goes with the number of turns, not with what they hold.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .records import TurnEdgeRow
from .rules import Sums, total_tokens


class End(NamedTuple):
    """What a turn's row says of how and when it ended."""

    status: str
    sealed_at: int | None
    base_revision: int
    begin_seq: int
    used_tokens: bool


class Lineage:
    def __init__(self, edges: Iterable[TurnEdgeRow]) -> None:
        self.told: set[str] = set()  # messages whose usage turn.usage() told
        self.altered: set[str] = set()  # messages and parts that are not what was written; noted as they are found
        self.circles: list[str] = []  # a turn of each
        self._open: dict[str, list[TurnEdgeRow]] = {}
        self._numbers: dict[str, int] = {}
        self._ids: list[str] = []
        self._homes: list[str] = []
        self._tokens: list[int] = []
        self._ends: list[End] = []
        self._messages: list[int] = []
        self._grow(_resolved(self._read(edges), self._numbers))

    def _read(self, edges: Iterable[TurnEdgeRow]) -> list[str | None]:
        """The parents, by name."""
        parents, homes = list[str | None](), dict[str, str]()
        for edge in edges:
            self._numbers[edge.id] = len(parents)
            self._ids.append(edge.id)
            self._homes.append(homes.setdefault(edge.session_id, edge.session_id))
            self._tokens.append(total_tokens(edge))
            self._ends.append(
                End(edge.status, edge.sealed_at, edge.base_revision, edge.begin_seq, self._tokens[-1] > 0)
            )
            self._messages.append(edge.messages)
            parents.append(edge.parent_id)
            self._note(edge)
        return parents

    def _note(self, edge: TurnEdgeRow) -> None:
        if edge.response_id and edge.usage_told:
            self.told.add(edge.response_id)
        if edge.live and edge.sealed_at is None:
            self._open.setdefault(edge.session_id, []).append(edge)

    def _grow(self, parents: list[int]) -> None:
        cut = set(_cuts(parents))
        self.circles = [self._ids[turn] for turn in sorted(cut)]
        for turn in cut:
            parents[turn] = -1
        order = _walk(parents)
        self._first, self._size = [0] * len(order), [1] * len(order)
        self._depths = [0] * len(order)
        for number, turn in enumerate(order):
            self._first[turn] = number
            self._add_up(turn, parents[turn], is_cut=turn in cut)
        for turn in reversed(order):
            if parents[turn] >= 0:
                self._size[parents[turn]] += self._size[turn]

    def _add_up(self, turn: int, parent: int, *, is_cut: bool) -> None:
        """Behind a circle there is no root to count from: the depth stays 0."""
        if parent < 0:
            self._depths[turn] = 0 if is_cut else 1
        elif self._depths[parent]:
            above = Sums(self._depths[parent], self._tokens[parent], self._messages[parent])
            own = above.and_then(self._tokens[turn], self._messages[turn])
            self._depths[turn], self._tokens[turn], self._messages[turn] = own

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, turn_id: str | None) -> bool:
        return turn_id in self._numbers

    def is_on_path(self, turn_id: str, head: str | None) -> bool:
        """Whether a turn is the head or one of those it comes from."""
        turn, end = self._numbers.get(turn_id), self._numbers.get(head or "")
        return turn is not None and end is not None and 0 <= self._first[end] - self._first[turn] < self._size[turn]

    def home(self, turn_id: str) -> str | None:
        """The session that began it."""
        number = self._numbers.get(turn_id)
        return None if number is None else self._homes[number]

    def depth(self, turn_id: str) -> int:
        return self._depths[self._numbers[turn_id]]

    def sums(self, turn_id: str) -> Sums | None:
        """What they should be; None behind a circle."""
        number = self._numbers[turn_id]
        depth = self._depths[number]
        return Sums(depth, self._tokens[number], self._messages[number]) if depth else None

    def end(self, turn_id: str) -> End:
        return self._ends[self._numbers[turn_id]]

    def uncounted(self, counted: set[str]) -> list[str]:
        """Turns that used tokens after one of their session whose usage has rows, and have none."""
        first = dict[str, int]()
        for turn_id in counted & self._numbers.keys():
            home, begun = self._homes[self._numbers[turn_id]], self.end(turn_id).begin_seq
            first[home] = min(begun, first.get(home, begun))
        return [
            turn_id
            for turn_id, home, end in zip(self._ids, self._homes, self._ends, strict=True)
            if end.used_tokens and turn_id not in counted and end.begin_seq > first.get(home, end.begin_seq)
        ]

    def open_turns(self, session_id: str) -> list[TurnEdgeRow]:
        return self._open.get(session_id, [])


class View:
    """Which turns a session shows: those on its head's path, and open ones that stand on the head."""

    def __init__(self, lineage: Lineage, head: str | None, standing: set[str]) -> None:
        self._lineage, self._head, self._standing = lineage, head, standing

    def shows(self, turn_id: str) -> bool:
        return turn_id in self._standing or self._lineage.is_on_path(turn_id, self._head)


def _resolved(parents: list[str | None], numbers: dict[str, int]) -> list[int]:
    return [-1 if parent is None else numbers.get(parent, -1) for parent in parents]


def _cuts(parents: list[int]) -> Iterable[int]:
    """The first turn of each circle."""
    seen = [0] * len(parents)  # by which walk
    for start in range(len(parents)):
        turn = start
        while turn >= 0 and not seen[turn]:
            seen[turn] = start + 1
            turn = parents[turn]
        if turn >= 0 and seen[turn] == start + 1:
            yield min(_circle(parents, turn))


def _circle(parents: list[int], start: int) -> Iterable[int]:
    yield start
    turn = parents[start]
    while turn != start:
        yield turn
        turn = parents[turn]


def _walk(parents: list[int]) -> list[int]:
    """Every turn after its parent, and right after it all that comes from it."""
    child, sibling = [-1] * len(parents), [-1] * len(parents)
    for turn in reversed(range(len(parents))):
        if parents[turn] >= 0:
            sibling[turn], child[parents[turn]] = child[parents[turn]], turn
    order: list[int] = []
    waiting = [turn for turn in reversed(range(len(parents))) if parents[turn] < 0]
    while waiting:
        turn = waiting.pop()
        order.append(turn)
        turn = child[turn]
        while turn >= 0:
            waiting.append(turn)
            turn = sibling[turn]
    return order
