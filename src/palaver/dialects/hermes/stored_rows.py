"""A session of ours as rows of Hermes' `messages`, in the order of a file: what is on the path and, each behind the
turn that it came after, what is beside it.

What came from a `state.db` goes back as it came: its turns hold the rows themselves. All else is made of messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...model import TurnInfo
from ...numbered import FIRST, NumberedRows
from ...session import Session, StoredMessage
from . import message_rows
from .columns import canonical
from .rows import Row
from .session_columns import COMPACTED, ORIGIN, OURS

Turns = dict[str | None, list[StoredMessage]]


class StoredRow(NamedTuple):
    """A row, without what happened to it; `ref` is the message, or the part of the result, that says it."""

    ref: str
    turn_id: str | None
    row: Row
    is_on_path: bool
    is_active: bool
    is_compacted: bool

    @property
    def said(self) -> bytes:
        """What it says, whenever that was."""
        return said(self.row)


def said(row: Row) -> bytes:
    return canonical({name: value for name, value in row.items() if name != "timestamp" and value is not None})


def rows_of(rows: NumberedRows, session: Session) -> list[StoredRow]:
    return list(_Rows(rows, session))


class _Rows:
    def __init__(self, rows: NumberedRows, session: Session) -> None:
        self._store = rows.store
        self._session = session
        ours = session.metadata.get(OURS)
        ours = ours if isinstance(ours, dict) else {}
        self._summarised = _places(ours.get(COMPACTED))
        self._still_active = _places(ours.get(f"{COMPACTED}_active"))
        self._stamps = rows.stamps(session.id)
        self._items: dict[str, list[tuple[str, Row]] | None] = {}

    def __iter__(self) -> Iterator[StoredRow]:
        shown: Turns = {}
        for message in self._session.transcript():
            shown.setdefault(message.turn_id, []).append(message)
        beside = self._beside([turn.id for turn in self._session.path()], shown)
        yield from self._below(None, beside)
        for turn_id, messages in shown.items():
            yield from self._of_turn(turn_id, messages, is_on_path=True)
            yield from self._below(turn_id, beside)

    # ------------------------------------------------------------ what is beside the path

    def _beside(self, path: list[str], shown: Turns) -> dict[str | None, list[str]]:
        """The turns of this session that are not on its path, by what they stand on."""
        found = [turn for turn in self._session.tree() if turn.id not in shown and self._is_ours(turn)]
        if not found:
            return {}
        claimed = {item for turn_id in path for item, _ in self._natives(turn_id) or ()}
        known = {*(turn.id for turn in found), *path}
        beside: dict[str | None, list[str]] = {}
        for turn in reversed(found):  # of a row that came in twice, the later one
            items = {item for item, _ in self._natives(turn.id) or ()}
            if items and items <= claimed:
                known.discard(turn.id)
                continue
            claimed |= items
            beside.setdefault(turn.parent_id if turn.parent_id in known else None, []).insert(0, turn.id)
        return beside

    def _is_ours(self, turn: TurnInfo) -> bool:
        return turn.session_id == self._session.id and turn.sealed_at is not None

    def _below(self, turn_id: str | None, beside: dict[str | None, list[str]]) -> Iterator[StoredRow]:
        waiting = list(reversed(beside.pop(turn_id, [])))
        while waiting:
            at = waiting.pop()
            yield from self._of_turn(at, self._session.messages_of(at), is_on_path=False)
            waiting += reversed(beside.pop(at, []))

    # ------------------------------------------------------------ one turn

    def _natives(self, turn_id: str | None) -> list[tuple[str, Row]] | None:
        """The rows that a turn came from, if it came from a file; None: it did not, or they are not there any more."""
        if turn_id is None:
            return None
        if turn_id not in self._items:
            found = self._store.natives(turn_id)
            whole = found and all(each.origin == ORIGIN and each.body is not None for each in found)
            self._items[turn_id] = [(each.item, json.loads(each.body or b"")) for each in found] if whole else None
        return self._items[turn_id]

    def _of_turn(self, turn_id: str | None, messages: list[StoredMessage], *, is_on_path: bool) -> Iterator[StoredRow]:
        made = [row for message in messages for row in _of_message(message, self._stamps, is_on_path)]
        natives = self._natives(turn_id)
        self._items.pop(turn_id or "", None)
        if natives is None:
            yield from made
            return
        refs = _refs(natives, made)
        for ref, (item, row) in zip(refs, natives, strict=True):
            place = int(item.removeprefix("row-"))
            gone, kept = place in self._summarised, place in self._still_active
            yield StoredRow(ref, turn_id, row, is_on_path, is_on_path and not gone, gone or kept)


def _refs(natives: list[tuple[str, Row]], made: list[StoredRow]) -> list[str]:
    """Which message, or result, each row is: the one that says the same, else the one in its place."""
    left = list(made)
    refs = []
    for _, row in natives:
        same = next((one for one in left if one.said == said(row)), left[0] if left else made[-1])
        refs.append(same.ref)
        if same in left:
            left.remove(same)
    return refs


def _places(ranges: Any) -> set[int]:
    found = set[int]()
    for each in ranges if isinstance(ranges, list) else ():
        if isinstance(each, list) and len(each) == 2 and all(type(end) is int for end in each):
            found.update(range(each[0], min(each[1], each[0] + 10_000_000) + 1))
    return found


# ---------------------------------------------------------------- one message


def _of_message(message: StoredMessage, stamps: Mapping[str, float], is_on_path: bool) -> Iterator[StoredRow]:
    for spot, row in message_rows.rows_in(message):
        ref = message.id if spot is FIRST or spot.place >= len(message.part_ids) else message.part_ids[spot.place]
        yield _row(message, ref, row, stamps.get(ref), is_on_path)


def _row(message: StoredMessage, ref: str, row: Row, stamp: float | None, is_on_path: bool) -> StoredRow:
    active, compacted = row.pop("active", 1), row.pop("compacted", 0)
    row["timestamp"] = message_rows.when(row.get("timestamp"), stamp, message)
    known = {name: value for name, value in row.items() if value is not None}
    return StoredRow(ref, message.turn_id, known, is_on_path, is_on_path and active != 0, bool(compacted))
