"""Turns as a graph, newest first, drawn as `git log --graph` draws commits.

A column goes down from each tip to its root; where two tips grow from one turn, the right column joins the left. Turns
that are all the first of their session (an answer that was generated again) join in a dot: the beginning. A queued
message has no parent yet; it is still to come, so it is above all turns, in a column down to what it will come after.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from palaver import TurnInfo

TURN = "o"
BEGINNING = "."


class Row(NamedTuple):
    """A line of the graph, the turn it is about, and what goes on below it."""

    graph: str
    turn: TurnInfo | None = None
    below: str = ""


def draw(turns: list[TurnInfo], ahead: str | None = None) -> Iterator[Row]:
    """Lines from the newest turn to the beginning. What is queued, first come first, comes after the turn `ahead`."""
    queued = [turn for turn in turns if _is_placeless(turn)]
    begun = [turn for turn in turns if not _is_placeless(turn)]
    parents = {turn.id: turn.parent_id for turn in begun} | _in_line(queued, ahead)
    end = BEGINNING if list(parents.values()).count(None) > 1 else None
    columns: list[str | None] = []  # the turn that each column goes down to
    for turn in [*reversed(queued), *_newest_first(begun)]:
        at = _column_of(columns, turn.id)
        yield from _joined(columns, at)
        graph = " ".join(TURN if place == at else "|" for place in range(len(columns)))
        columns[at] = parents[turn.id] or end
        yield Row(graph, turn, " ".join("|" if goes_on else " " for goes_on in columns))
        if columns[at] is None:
            yield from [Row(_close(len(columns), at))] if at < len(columns) - 1 else []
            del columns[at]
    if end:
        yield from _joined(columns, columns.index(end))
        yield Row(end)


def is_queued(turn: TurnInfo) -> bool:
    return turn.status == "pending"


def _is_placeless(turn: TurnInfo) -> bool:
    return is_queued(turn) and turn.parent_id is None


def _in_line(queued: list[TurnInfo], ahead: str | None) -> dict[str, str | None]:
    """What each queued message will come after: the first after `ahead`, every other after the one before it."""
    before = [ahead, *(turn.id for turn in queued)]
    return {turn.id: parent for turn, parent in zip(queued, before, strict=False)}


def _column_of(columns: list[str | None], turn_id: str) -> int:
    if turn_id not in columns:
        columns.append(turn_id)
    return columns.index(turn_id)


def _newest_first(turns: list[TurnInfo]) -> list[TurnInfo]:
    """Children before parents, whatever the clocks said; else the newest first."""
    begun = {turn.id: turn.started_at for turn in turns}
    for turn in reversed(turns):  # parents come first in it
        if turn.parent_id in begun:
            begun[turn.parent_id] = min(begun[turn.parent_id], begun[turn.id])
    return sorted(turns, key=lambda turn: (begun[turn.id], turn.depth), reverse=True)


def _joined(columns: list[str | None], at: int) -> Iterator[Row]:
    """Columns that go down to the same turn as the one at `at` end in it."""
    for joining in [place for place in range(len(columns) - 1, at, -1) if columns[place] == columns[at]]:
        yield Row(_join(len(columns), at, joining))
        del columns[joining]


def _join(count: int, at: int, joining: int) -> str:
    """`|_|/`: the column `joining` ends in `at`; those right of it move one to the left."""
    row = [" "] * (2 * count - 1)
    for place in range(count):
        if place < joining:
            row[2 * place] = "|"
        else:
            row[2 * place - 1] = "/"
    for place in range(at, joining - 1):
        row[2 * place + 1] = "_"
    return "".join(row).rstrip()


def _close(count: int, at: int) -> str:
    """A column ends, those right of it move to the left."""
    return "".join("| " if place < at else (" /" if place > at else "") for place in range(count)).rstrip()
