"""The tail of the index: what is being written, what was sealed a moment ago, and rows of other programs.

It is scanned, newest first, so that a word is found at once; so much of it that a search stays quick. What is left over
is told: the index holds everything up to `through`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from ...base import ids
from ...db.engine import Tx
from ...search.documents import Document
from .. import damage
from . import documents, loose, records
from .documents import Stored
from .loose import Looked
from .records import TurnToIndexRow

MOST_TURNS = 1_000
MOST_CHARACTERS = 4_000_000
_MOST_LOOSE = 2_000


class State(NamedTuple):
    """`moves`: how often the index was written. `mark`: it is being made again, and has come up to this turn. `looked`:
    how far rows of other programs were looked for."""

    moves: int
    mark: str | None
    looked: Looked | None


def state(tx: Tx) -> State:
    found = {row.name: row.value for row in records.index_state.all(tx)}
    moves, mark = _number(found.get("search")) or 0, found.get("search_mark")
    return State(moves, mark, loose.looked(found.get("search_looked")))


def _number(text: str | None) -> int | None:
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() else None


class Found(NamedTuple):
    stored: Stored
    document: Document


class Tail:
    """Of one search, from one snapshot."""

    def __init__(self, tx: Tx, state: State) -> None:
        self._tx, self._state = tx, state
        self._loose_are_left = False
        self._left_out: TurnToIndexRow | None = None

    @cached_property
    def messages(self) -> dict[str, Stored]:
        """By id; what the index says of these is old."""
        found: dict[str, Stored] = {}
        turns = records.newest_unindexed.all(self._tx, limit=MOST_TURNS + 1)
        characters = 0
        for count, turn in enumerate(turns):
            if count == MOST_TURNS or characters > MOST_CHARACTERS:
                self._left_out = turn
                break
            for stored in self._of(turn):
                if stored.id not in found:
                    found[stored.id] = stored
                    characters += sum(len(document.text) for document in stored.documents)
        for stored in self._loose():
            found.setdefault(stored.id, stored)
        return found

    def _of(self, turn: TurnToIndexRow) -> Iterator[Stored]:
        try:
            is_streaming = turn.sealed_at is None and turn.status == "streaming"
            yield from documents.of_open_turn(self._tx, turn) if is_streaming else documents.of_turn(self._tx, turn)
        except damage.RAISED:  # rows that are not as they were; verify names them
            return

    def _loose(self) -> Iterator[Stored]:
        found = loose.find(self._tx, self._state.looked, _MOST_LOOSE)
        self._loose_are_left = len(found) == _MOST_LOOSE
        for row in found:
            if isinstance(row.id, str):
                yield from documents.readable(self._tx, row, None, None)

    def __iter__(self) -> Iterator[Found]:
        """Its documents, the newest first."""
        in_order = sorted(self.messages.values(), key=lambda stored: (stored.at, stored.id), reverse=True)
        for stored in in_order:
            for document in sorted(stored.documents, key=lambda one: one.key, reverse=True):
                yield Found(stored, document)

    @property
    def through(self) -> int | None:
        """What came into the store up to this time is found; None: everything is."""
        is_all = self.messages is not None and self._left_out is None and not self._loose_are_left
        if is_all and self._state.mark is None:
            return None
        if self._loose_are_left:
            return 0
        if self._state.mark is not None:
            return _came(self._state.mark)
        oldest = records.turns_to_index.all(self._tx, limit=1)
        return _came(oldest[0].id) if oldest else 0


def _came(turn_id: str) -> int:
    """When a turn came into the store, by its id."""
    return ids.stamp_of(turn_id) or 0
