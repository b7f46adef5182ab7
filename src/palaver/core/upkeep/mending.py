"""Mending copies that are wrong: each is recomputed under the lock of its session, and rewritten.

What a check saw is a moment ago: writers have gone on since, and its answer would undo what they wrote. So a repair is
told only where to look. A transaction is about one session, and short: others wait for it, then go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import groupby, islice
from operator import attrgetter
from typing import NamedTuple

from ...aisdk import token_usage
from ...base import exact_json
from ...base.clock import now_ms
from ...db.engine import Database, Tx
from ...db.queries import Q
from ...model import Usage
from .. import damage, metadata, rows
from ..foreign import materialise
from ..read import previews
from ..turn import open_turn, response
from . import filling, indexing, records
from .lineage import Lineage, View
from .rules import Sums, total_tokens

_BATCH = 100  # repairs in one transaction


class Locked:
    """A session that nobody else writes to until the transaction ends."""

    def __init__(self, tx: Tx, session_id: str, lineage: Lineage) -> None:
        self.tx, self.session_id = tx, session_id
        self._lineage = lineage
        tx.one(Q.lock_session, session=session_id)

    @cached_property
    def view(self) -> View:
        """What it shows now. Turns that were sealed since the check hang on turns that it knows."""
        head = rows.head.one(self.tx, session=self.session_id)
        if head is None or head.deleted_at is not None:
            return View(self._lineage, None, set())
        turn_id, newer = head.turn_id, set[str]()
        while turn_id is not None and turn_id not in self._lineage and turn_id not in newer:
            newer.add(turn_id)
            (turn_id,) = self.tx.one(Q.parent_of, turn=turn_id) or (None,)
        standing = {turn.id for turn in self._open if turn.base_revision == head.revision and turn.status != "pending"}
        return View(self._lineage, turn_id, newer | standing)

    @cached_property
    def queued(self) -> set[str]:
        """The turns whose message waits in the queue."""
        return {turn.id for turn in self._open if turn.status == "pending"}

    @cached_property
    def _open(self) -> list[rows.OpenTurnRow]:
        return rows.open_turns.all(self.tx, session=self.session_id)


Repair = Callable[[Locked], None]  # looks again, and rewrites what is still wrong


class Work(NamedTuple):
    session_id: str
    rank: int  # what a copy rests on has a lower one
    repair: Repair


def mend(db: Database, lineage: Lineage, work: list[Work]) -> None:
    """Carry out repairs, session by session."""
    for session_id, some in _batches(work):
        with db.write(hard=True) as tx:
            locked = Locked(tx, session_id, lineage)
            for each in some:
                each.repair(locked)


def _batches(work: list[Work]) -> Iterator[tuple[str, list[Work]]]:
    lowest = dict[str, int]()
    for session_id, rank, _ in work:
        lowest[session_id] = min(rank, lowest.get(session_id, rank))
    work = sorted(work, key=lambda each: (lowest[each.session_id], each.session_id, each.rank))
    for session_id, group in groupby(work, key=attrgetter("session_id")):
        while some := list(islice(group, _BATCH)):
            yield session_id, some


# ---------------------------------------------------------------- the copies


def thread(turn_id: str) -> Repair:
    """A turn's sums are its parent's and its own. The parent's are right by now."""

    def repair(locked: Locked) -> None:
        row = records.sums_beside_parent.one(locked.tx, turn=turn_id)
        if row is not None:
            row = damage.sound(row)
            parent = Sums(row.parent_depth, row.parent_tokens, row.parent_messages)
            right = parent.and_then(total_tokens(row), row.messages)
            locked.tx.defer(Q.set_thread, turn=turn_id, **right._asdict())

    return repair


def part_rows(turn_id: str) -> Repair:
    def repair(locked: Locked) -> None:
        row = rows.turn.one(locked.tx, turn=turn_id)
        if row is not None and row.status == "waiting":
            turn = open_turn.load(locked.tx, turn_id)
            for index in range(len(turn.fold.parts)):
                response.write_part(locked.tx, turn, index)

    return repair


def part_rows_fit(tx: Tx, turn: open_turn.OpenTurn) -> bool:
    """Rows of a waiting turn are flushed, so they must equal its fold."""
    assert turn.response_id is not None
    stored = [part.data_json for part in rows.parts.all(tx, message=turn.response_id)]
    return stored == [exact_json.dump(turn.fold.part(index)) for index in range(len(turn.fold.parts))]


def rollups(locked: Locked) -> None:
    texts = [text for (text,) in locked.tx.all(Q.usage_texts, session=locked.session_id)]
    if not all(isinstance(damage.parsed(text), dict) for text in texts):
        return  # the sums may be all that is left of what a damaged row counted
    right = sum(map(usage_in, texts), Usage())
    locked.tx.defer(Q.set_rollups, session=locked.session_id, total=right.total, **right.columns())


def usage_in(text: str) -> Usage:
    """The tokens that an assistant's message tells of in its metadata."""
    return (token_usage.from_metadata(damage.parsed(text)) if '"usage"' in text else None) or Usage()


def usage_in_our_words(text: str) -> Usage:
    """The same, as it was read before the words of others were known."""
    return (Usage.from_metadata(damage.parsed(text)) if '"usage"' in text else None) or Usage()


def columns(turn_id: str) -> Repair:
    """What follows from a turn's facts, parts and parent. The parent's are right by now."""

    def repair(locked: Locked) -> None:
        row = records.unfilled_turn.one(locked.tx, turn=turn_id)
        if row is not None:
            filling.write(locked.tx, row)

    return repair


def usage(turn_id: str) -> Repair:
    """A turn's counts are the sums of its usage rows."""

    def repair(locked: Locked) -> None:
        found = locked.tx.one(Q.usage_sum_of_turn, turn=turn_id)
        if found is not None and None not in found:
            locked.tx.defer(Q.set_turn_tokens, turn=turn_id, **Usage(*found).columns())

    return repair


def cost(turn_id: str) -> Repair:
    """And so is its cost, where they say one."""

    def repair(locked: Locked) -> None:
        (right,) = locked.tx.one(Q.cost_sum_of_turn, turn=turn_id) or (None,)
        if right is not None:
            locked.tx.defer(Q.set_turn_cost, turn=turn_id, cost=right)

    return repair


def session_facts(locked: Locked) -> None:
    locked.tx.defer(Q.restamp_facts, session=locked.session_id)


def preview(locked: Locked) -> None:
    right = previews.recompute(locked.tx, locked.session_id)
    locked.tx.defer(Q.set_preview, session=locked.session_id, preview=right)


def copy_fits(tx: Tx, copy_id: str, message_id: str) -> bool:
    """Whether a row that stands in a fork for a message says what the message does."""
    original, copy = materialise.as_stored(tx, message_id), materialise.as_stored(tx, copy_id)
    if original is None or copy is None:
        return True  # what is gone is named elsewhere
    right = materialise.copied(original)
    return right == (copy.role, metadata.view(copy.metadata), copy.created_at, copy.parts)


def copy_of(copy_id: str, message_id: str) -> Repair:
    def repair(locked: Locked) -> None:
        original, row = materialise.as_stored(locked.tx, message_id), rows.message.one(locked.tx, id=copy_id)
        if original is None or row is None or copy_fits(locked.tx, copy_id, message_id):
            return
        hidden, right = metadata.hidden_stamp(damage.as_json(row.metadata_json)), materialise.copied(original)
        materialise.rewrite(locked.tx, locked.session_id, copy_id, right, hidden, now_ms())

    return repair


def documents(turn_id: str) -> Repair:
    """What search finds of a turn."""

    def repair(locked: Locked) -> None:
        indexing.index_turn(locked.tx, turn_id)

    return repair


def forgotten(message_id: str) -> Repair:
    """What search finds of a message that is gone: nothing."""

    def repair(locked: Locked) -> None:
        if rows.message.one(locked.tx, id=message_id) is None:
            indexing.forget(locked.tx, [message_id])

    return repair


def stamp(row_id: str, message_id: str) -> Repair:
    """hidden_at of a row that stands for a message, itself or as a copy."""

    def repair(locked: Locked) -> None:
        row = rows.message.one(locked.tx, id=row_id)
        listed = [turn_id for turn_id, _ in locked.tx.all(Q.lines_that_list, message=message_id)]
        if row is None or not listed or not locked.queued.isdisjoint(listed):
            return
        text = damage.as_json(row.metadata_json)
        is_shown, now = any(map(locked.view.shows, listed)), now_ms()
        if metadata.is_hidden(text) == is_shown:
            right = metadata.unhide(text) if is_shown else metadata.hide(text, now)
            locked.tx.defer(Q.set_message_metadata, id=row_id, metadata=right, now=now)

    return repair
