"""What a batch of a source will write: which of its turns are here, which are new, and of some the rest.

A turn is known by its items below its parent, in the store or among those that the batch writes before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..base import arguments
from ..core.read import natives
from ..core.read.natives import Key, Known
from ..core.verbs.graft import Moved, NewTurn
from ..db.engine import Tx
from ..errors import BadValue
from . import preparing
from .steps import End, Move, Step
from .values import GraftTurn


class Planned(NamedTuple):
    """A turn that the batch will write: its items, and its id."""

    keys: list[Key]
    turn_id: str


class Plan:
    """`steps` is what is to be written, in order; `known`, how many items are here already."""

    def __init__(
        self, session_id: str | None, origin: str, end_of: Callable[[str], End | str], carried: list[Moved]
    ) -> None:
        self._session_id, self._origin, self._end_of = session_id, origin, end_of
        self.steps: list[NewTurn | Moved] = [*carried]
        self.known = 0
        self._ended: list[tuple[End, Step]] = []  # pieces of longer turns that became turns by this plan
        self._planned: dict[tuple[str | None, Key], list[Planned]] = {}

    def move(self, move: Move) -> None:
        end = move.end.actual if isinstance(move.end, End) else None
        if end is not None and not end.is_inside:
            self.steps.append(Moved(end.turn_id, move.given.at, move.given.reason))

    def place(self, tx: Tx, step: Step) -> None:
        """Find where a turn of the source ends here, and plan what is new of it."""
        assert isinstance(step.parent, End)
        parent = step.parent.actual
        self._end_there(tx, parent)
        known = self._match(tx, parent.turn_id, step.keys)
        if known.items == len(step.keys):
            step.end.put(known.turn_id)
            self.known += known.items
        elif not known.items and self._is_beginning(tx, parent.turn_id, step.keys):
            step.end.put(None, is_inside=True)
            self.known += len(step.keys)
        else:
            self._add(tx, step, known)

    def take_back(self) -> None:
        """Pieces that were to become turns are inside of longer ones again."""
        for end, piece in self._ended:
            end.turn_id, end.is_inside, end.step = None, True, piece

    def _end_there(self, tx: Tx, end: End) -> None:
        """Something comes after a turn that is here as the beginning of a longer one: it becomes one of its own."""
        piece = end.step
        if end.is_inside and piece is not None:
            self._ended.append((end, piece))
            if isinstance(piece.parent, End):
                self._end_there(tx, piece.parent.actual)
            self.known -= len(piece.keys)
            self._add(tx, piece, Known(_turn_id(piece.parent), 0))

    def _add(self, tx: Tx, step: Step, known: Known) -> None:
        """What is new of a turn: all of it, or what follows its first items."""
        said, known = _said(step, known)
        kept = [preparing.native(item, key) for item, key in zip(step.items, step.keys, strict=True)]
        first, *_ = keys = step.keys[known.items :]
        new = preparing.turn(said, known.turn_id, kept[known.items :], self._origin, self._keep_from(said))
        if self._session_id is not None:
            new = new._replace(known=natives.match(tx, self._session_id, self._origin, known.turn_id, keys).items)
        self.steps.append(new)
        self._planned.setdefault((known.turn_id, first), []).append(Planned(keys, new.id))
        self.known += known.items
        step.end.put(new.id)

    def _keep_from(self, said: GraftTurn) -> str | None:
        """The first turn that a summary does not stand for."""
        if said.compaction is None or said.compaction.keep_from is None:
            return None
        end = self._end_of(arguments.text("keep_from", said.compaction.keep_from))
        if isinstance(end, End) and end.actual.turn_id is not None:
            return end.actual.turn_id
        raise BadValue(f"no turn of this source ends with {said.compaction.keep_from!r:.80}")

    def _match(self, tx: Tx, parent: str | None, keys: list[Key]) -> Known:
        """How far a turn is here, or will be when the batch is written."""
        known = Known(parent, 0)
        while known.items < len(keys):
            more = self._match_next(tx, known.turn_id, keys[known.items :])
            if not more.items:
                break
            known = Known(more.turn_id, known.items + more.items)
        return known

    def _match_next(self, tx: Tx, parent: str | None, keys: list[Key]) -> Known:
        ready = [each for each in self._planned.get((parent, keys[0]), ()) if each.keys == keys[: len(each.keys)]]
        if ready:
            furthest = max(ready, key=lambda each: len(each.keys))
            return Known(furthest.turn_id, len(furthest.keys))
        if self._session_id is None:
            return Known(parent, 0)
        return natives.match(tx, self._session_id, self._origin, parent, keys)

    def _is_beginning(self, tx: Tx, parent: str | None, keys: list[Key]) -> bool:
        """Whether the items are the first ones of a turn that is here: an older copy of the source has nothing new."""
        longer = any(each.keys[: len(keys)] == keys for each in self._planned.get((parent, keys[0]), ()))
        if longer or self._session_id is None:
            return longer
        return natives.begins_with(tx, self._session_id, self._origin, parent, keys)


def _said(step: Step, known: Known) -> tuple[GraftTurn, Known]:
    """What the source says of a turn after the items that are here; where it cannot be divided, of all of it."""
    given = step.given
    said: GraftTurn | None = given if not known.items else None
    if given.rest is not None:
        said = given.rest(known.items)
    if said is None:
        known = Known(_turn_id(step.parent), 0)
        said = given if given.rest is None else given.rest(0)
    if not isinstance(said, GraftTurn):
        raise BadValue("an importer says nothing of a turn that is all new")
    return said, known


def _turn_id(parent: End | str) -> str | None:
    return parent.actual.turn_id if isinstance(parent, End) else None
