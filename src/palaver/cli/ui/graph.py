"""Turns as a graph, newest first, drawn as `git log --graph` draws commits.

A column goes down from each tip to its root; where two tips grow from one turn, the right column joins the left. Turns
that are all the first of their session (an answer that was generated again) join in a dot: the beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from palaver import TurnInfo

TURN = "o"
_BEGINNING = "."


class Row(NamedTuple):
    """A line of the graph, the turn it is about, and what goes on below it."""

    graph: str
    turn: TurnInfo | None = None
    below: str = ""


def draw(turns: list[TurnInfo]) -> Iterator[Row]:
    """Lines from the newest turn to the beginning."""
    roots = [turn for turn in turns if turn.parent_id is None and turn.status != "pending"]
    end = _BEGINNING if len(roots) > 1 else None
    columns: list[str | None] = []  # the turn that each column goes down to
    for turn in _newest_first(turns):
        at = _column_of(columns, turn.id)
        yield from _joined(columns, at)
        graph = " ".join(TURN if place == at else "|" for place in range(len(columns)))
        columns[at] = turn.parent_id or (end if turn.status != "pending" else None)
        yield Row(graph, turn, " ".join("|" if goes_on else " " for goes_on in columns))
        if columns[at] is None:
            yield from [Row(_close(len(columns), at))] if at < len(columns) - 1 else []
            del columns[at]
    if end:
        yield from _joined(columns, 0)
        yield Row(end)


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
