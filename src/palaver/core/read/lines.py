"""Lines of a path, by their place: what stands before one, and what after it, in the order of record.

Back is from line to line and from parent to parent. A parent does not know which child is on this path: so for what
comes after a line, a turn that is far enough is looked for from the head, by jumps, and walked back from. Whoever wants
so many lines reads about as many rows, however long the path is.
"""

from __future__ import annotations

from typing import NamedTuple

from ...db.engine import Tx
from ...errors import StoreCorrupt
from .. import rows
from ..rows import LineRow
from . import jumps
from .jumps import FAR

TAIL = FAR  # the depth of what stands behind the path: there the line is a number in a list


class Place(NamedTuple):
    """A line; places compare in the order of record. `messages` were said up to the end of its turn."""

    depth: int
    line: int
    turn_id: str = ""
    messages: int = 0


START, END = Place(0, -1), Place(TAIL, FAR)


class Lines:
    """The lines of a kind (message, or part of a type) on the way to a turn."""

    def __init__(self, tx: Tx, top: str | None, kind: str, type: str | None = None) -> None:
        self._tx, self._top = tx, top
        self._counted = {"kind": kind, "type": type, "far": FAR}

    def before(self, place: Place, count: int) -> list[Place]:
        """The last ones before a place, at most so many, oldest first."""
        turn, line = (self._top, FAR) if place.depth == TAIL else (place.turn_id, place.line)
        if not turn or count < 1:
            return []
        found = rows.lines_back.all(self._tx, turn=turn, line=line, limit=count, **self._counted)
        return [Place(row.depth, row.seq, row.turn_id) for row in reversed(found)]

    def after(self, place: Place, until: Place, count: int) -> list[Place]:
        """The first ones after a place and before another, at most so many. Turns know how many messages were said, not
        how many parts of a type there are: where a turn was too near, the next one is twice as far."""
        top = self._top if until.depth == TAIL else until.turn_id
        found: list[Place] = []
        wanted, said = count, place.messages
        while top and place.depth < TAIL:
            far = jumps.back(self._tx, top, above=place.depth, messages=said + wanted)
            if far is None:
                break
            found += self._between(place, far.id, count - len(found))
            if far.id == top or len(found) >= count:
                break
            place, said, wanted = Place(far.depth, FAR, far.id), said + wanted, wanted * 2
        return [each for each in found if each < until][:count]

    def _between(self, place: Place, turn_id: str, count: int) -> list[Place]:
        given = {"depth": place.depth, "line": place.line, "limit": min(count, FAR)}
        found = rows.lines_forward.all(self._tx, turn=turn_id, **given, **self._counted)
        _refuse_gap(place, turn_id, min(found, key=lambda row: row.depth))
        return sorted(Place(row.depth, row.seq, row.turn_id) for row in found if row.seq is not None)


def _refuse_gap(place: Place, turn_id: str, last: LineRow) -> None:
    """The jumps said that the way leads from a turn to the place, and the parents do not."""
    if place.turn_id != last.turn_id if place.turn_id else last.parent_id is not None:
        where = f"turn {place.turn_id}" if place.turn_id else "a root"
        raise StoreCorrupt(
            f"the way from turn {turn_id} back to {where} ends at turn {last.turn_id}; verify() says why"
        )
