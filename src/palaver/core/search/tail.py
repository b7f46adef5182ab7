"""The tail of the index: what is being written, what was sealed a moment ago, and rows of other programs.

It is scanned, newest first, so that a word is found at once; so much of it that a search stays quick. What is left over
is told: the index holds everything up to `through`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from ...db.engine import Tx
from ...search.documents import Document
from .. import damage, rows
from ..read.loose_rows import MARGIN_MS
from . import documents, records
from .documents import Stored
from .records import TurnToIndexRow

MOST_TURNS = 1_000
MOST_CHARACTERS = 4_000_000
BEFORE_ALL = -(2**62)  # every number of a row
_MOST_LOOSE = 500
_RECENT = 50  # sessions that are looked at for rows of other programs, where rows have no order of arrival


class State(NamedTuple):
    """`moves`: how often the index was written. `mark`: it is being made again, and has come up to this turn. `looked`:
    no row up to this one is another program's (where rows have an order of arrival)."""

    moves: int
    mark: str | None
    looked: int | None


def state(tx: Tx) -> State:
    found = {row.name: row.value for row in records.index_state.all(tx)}
    return State(_number(found.get("search")) or 0, found.get("search_mark"), _number(found.get("search_looked")))


def _number(text: str | None) -> int | None:
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() else None


class Found(NamedTuple):
    stored: Stored
    document: Document


class Tail:
    """Of one search, from one snapshot."""

    def __init__(self, tx: Tx, state: State) -> None:
        self._tx, self._state = tx, state
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
        newest, looked = self._tx.watermark(), self._state.looked
        if newest is None:
            few = {"sessions": _RECENT, "margin": MARGIN_MS, "limit": _MOST_LOOSE}
            found = records.loose_of_recent.all(self._tx, **few)
        else:
            since = looked if looked is not None and looked <= newest else BEFORE_ALL
            found = records.loose_since.all(self._tx, watermark=since, limit=_MOST_LOOSE)
        return (documents.of_message(self._tx, row, None, None) for row in found if isinstance(row.id, str))

    def __iter__(self) -> Iterator[Found]:
        """Its documents, the newest first."""
        in_order = sorted(self.messages.values(), key=lambda stored: (stored.at, stored.id), reverse=True)
        for stored in in_order:
            for document in sorted(stored.documents, key=lambda one: one.part_id or "", reverse=True):
                yield Found(stored, document)

    @property
    def through(self) -> int | None:
        """Everything up to this time is found; None: everything is."""
        left_out = self._left_out if self.messages else None
        last = left_out.id if self._state.mark is None and left_out else self._state.mark
        if last is None:
            return None
        turn = rows.turn.one(self._tx, turn=last)
        return turn.started_at if turn else 0
