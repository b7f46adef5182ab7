"""The chunk writer: puts the chunks of one open turn into rows, and knows what their next number is.

A chunk is a row of its own, whatever the size of the text. The part's row, which other programs read, follows when
enough time has passed and enough is new (see save_policy.py), or when the part ends; so the cost of a chunk stays flat.
"""

from __future__ import annotations

from typing import Any

from ..aisdk import chunks
from ..aisdk.chunks import Item
from ..base import exact_json
from ..base.clock import monotonic, now_ms
from ..base.exact_json import LARGE
from ..core import heads
from ..core.settle.landing import chunks_are_gone
from ..core.turn import open_turn, response
from ..core.turn.open_turn import OpenTurn
from ..db.engine import Database, Tx
from ..db.queries import Q, Query
from .save_policy import PartRowAge, SavePolicy

RESULTS = {"tool-output-available", "tool-output-error", "tool-output-denied"}
STEPS = {"finish-step", "finish"}
assert Q.append_chunk.names == ("session", "seq", "data", "at", "turn", "fence")


class ChunkWriter:
    """Writes for the owner of a turn. After a failed write it is thrown away: then the rows are the truth."""

    def __init__(self, db: Database, state: OpenTurn, policy: SavePolicy) -> None:
        self._db = db
        self.state = state
        self._policy = policy
        self.seq = state.begin_seq  # of the newest chunk; asked for anew by what is written first
        self.rows: dict[int, PartRowAge] = {}
        self.dirty: set[int] = set()

    # ------------------------------------------------------------ one chunk

    def is_plain(self, delta: dict[str, Any], index: int | None) -> bool:
        """Nothing but a row for the chunk is due."""
        row = None if index is None or self.state.response_id is None else self.rows.get(index)
        if row is None or index is None:
            return False
        row.size += len(delta.get("delta") or delta.get("inputTextDelta") or "")
        self.dirty.add(index)
        return not row.is_due(self._policy)

    def row_of(self, text: str) -> tuple[Any, ...]:
        state = self.state
        return state.session_id, self.seq + 1, text, now_ms(), state.id, state.fence

    def insert(self, text: str) -> None:
        while True:
            if self._db.insert(Q.append_chunk, self.row_of(text)):
                self.seq += 1
                return
            with self._db.read() as tx:
                self.renumber(tx, Q.where_turn_stands)

    def renumber(self, tx: Tx, query: Query = Q.take_turn) -> None:
        """Read the newest number of the session; TurnSealed if the turn has another writer by now. By default under the
        session's lock: then the numbers that follow are this transaction's."""
        found = tx.one(query, turn=self.state.id, session=self.state.session_id)
        _, sealed_at, fence, event_seq, _, last = found or (None,) * 6
        if found is None or sealed_at is not None or fence != self.state.fence:
            raise open_turn.sealed_error(tx, self.state.id)
        newest = max(event_seq, last or 0)
        if newest < self.seq:
            raise chunks_are_gone(self.state.id)
        self.seq = newest

    # ------------------------------------------------------------ everything that chunks bring about

    def write_rows(self, tx: Tx, items: list[Item], touched: list[int | None], *, everything: bool) -> list[int]:
        """Everything that chunks bring about; which parts were written."""
        kinds, is_new = {parsed["type"] for parsed, _ in items}, self.state.response_id is None
        self._write_chunks(tx, items)
        written = self._write_parts(tx, items, touched, everything=everything, is_new=is_new)
        if any(chunks.decoded(p.get("messageMetadata")) is not None for p, _ in items):
            response.write_metadata(tx, self.state)
        if "start" in kinds:
            response.rename_response(tx, self.state)
        if kinds & STEPS:
            tx.defer_values(Q.touch_session, now_ms(), self.state.session_id)
        return written

    def _write_chunks(self, tx: Tx, items: list[Item]) -> None:
        state, guarded, now = self.state, False, now_ms()
        for place in range(len(items)):
            parsed, text = items[place]
            if state.response_id is None:
                self.seq = response.open_response(tx, state) - 1
                guarded = True
            if not guarded:  # the first one asks whether the turn is still ours; then it is, until the commit
                self.renumber(tx)
                guarded = True
            self.seq += 1
            if len(text) < LARGE:
                tx.defer_values(Q.insert_event, state.session_id, self.seq, "chunk", state.begin_seq, text, now)
                continue
            values = [state.session_id, self.seq, "chunk", state.begin_seq, text, now]
            if self._policy.at_once:
                items[place] = Item(parsed, "")  # released: the part's row is yet to be made from `parsed`
            del text
            tx.run_releasing(Q.insert_event, values)

    def _write_parts(
        self, tx: Tx, items: list[Item], touched: list[int | None], *, everything: bool, is_new: bool
    ) -> list[int]:
        state = self.state
        due = sorted(self.dirty) if everything else sorted({i for i in touched if i is not None})
        has_new = due and due[-1] >= len(state.part_ids) and not is_new  # the response's own row was looked for
        if has_new and tx.one(Q.session_exists, session=self.state.session_id) is None:
            raise heads.gone(self.state.session_id)
        for index in due:
            response.write_part(tx, state, index)
        for (parsed, _), place in zip(items, touched, strict=True):
            if place is not None and is_result(parsed):
                state.add(tx, "result", state.part_ids[place])
        return due

    def write_dirty(self, tx: Tx, *also: int) -> None:
        for index in sorted(self.dirty.union(also)):
            response.write_part(tx, self.state, index)

    def saved(self, written: list[int]) -> None:
        """The rows of these parts are as the fold says. Of a part that is over nobody asks how old its row is."""
        now = monotonic()
        for index in written:
            if self.state.fold.is_growing(index):
                self.rows.setdefault(index, PartRowAge()).saved(now)
            else:
                self.rows.pop(index, None)
        self.dirty.difference_update(written)

    def set_waiting(self, tx: Tx) -> None:
        """Nobody writes the turn from here on, until it is resumed. After the commit the caller counts the fence up."""
        state = self.state
        if tx.run(Q.set_status, status="waiting", owner=None, turn=state.id, fence=state.fence) != 1:
            raise open_turn.sealed_error(tx, state.id)
        self.event(tx, "wait", {"turn": state.id})
        state.status = "waiting"

    def event(self, tx: Tx, kind: str, data: Any) -> None:
        self.seq += 1
        tx.defer(
            Q.insert_event,
            session=self.state.session_id,
            seq=self.seq,
            kind=kind,
            turn=self.state.begin_seq,
            data=exact_json.encode(data),
            at=now_ms(),
        )


def is_result(chunk: dict[str, Any]) -> bool:
    return chunk["type"] in RESULTS and not chunk.get("preliminary")
