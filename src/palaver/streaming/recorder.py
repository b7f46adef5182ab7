"""The recorder: between the stream of one open turn and its rows.

With `save_on="chunk"` every chunk is on disk when `write` returns, as one appended row, whatever the size of the
text. The part's own row, which other programs read, follows when enough time has passed and enough is new, or when the
part ends; so the cost of a chunk stays flat. What another program may see is at most that much behind; readers of ours
never are. With `step` and `turn` chunks are folded at once and held back until they are due (see save_policy.py).

It holds the state of the turn in memory. After a write that failed the rows are the truth: the state is stale, and read
again before the next verb. `_or_stale` marks it, in every transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

from ..aisdk import chunks
from ..aisdk.chunks import Item
from ..aisdk.parts import COMPACTION
from ..base import exact_json
from ..base.exact_json import LARGE
from ..core import heads, metadata, rows
from ..core.facts import IN_MEMORY
from ..core.turn import open_turn, response
from ..core.turn.open_turn import OpenTurn
from ..core.verbs import mid_turn
from ..db.engine import Database, Tx
from ..db.queries import Q
from ..errors import BadValue, ChunkGap, PalaverError, StoreUnavailable, TurnWaiting
from ..model import SEALED
from .chunk_writer import ChunkWriter, is_result
from .pending_chunks import PendingChunks
from .save_policy import SavePolicy

DELTAS = {"text-delta", "reasoning-delta", "tool-input-delta"}


class Offer(NamedTuple):
    """A chunk that is folded, and what is to be stored of it."""

    db: Database
    item: Item
    touched: int | None
    row: tuple[Any, ...]
    part: response.PartUpdate | None  # its part's row, where that is due


class _OrStale:
    """`with`: whatever fails in the block, the state is stale."""

    __slots__ = ("_recorder",)

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is not None:
            self._recorder._is_stale = True


class Recorder:
    """Takes the chunks of one turn for its owner, one call at a time."""

    def __init__(
        self, db: Database, state: OpenTurn, policy: SavePolicy, *, on_hold: Callable[[], None] | None = None
    ) -> None:
        self._db = db
        self._policy = policy
        self._on_hold = on_hold
        self._take_up(state)
        self._pending = PendingChunks()
        self._is_stale = False
        self._or_stale = _OrStale(self)
        self._gap: int | None = None  # so many chunks there were, before a crash of the server took some

    def _take_up(self, state: OpenTurn) -> None:
        """A state, and a chunk writer for it; they change together."""
        self.state, self._writer = state, ChunkWriter(self._db, state, self._policy)

    @property
    def chunks(self) -> int:
        """How many were taken, pending ones too."""
        return self.state.chunks + len(self._pending)

    @property
    def holds_back(self) -> bool:
        """Whether some of them are not stored yet."""
        return len(self._pending) > 0

    @property
    def ended_as(self) -> str:
        """How the turn ends if nobody says otherwise: as its stream did."""
        said = self.state.fold.ended
        return said.status if said else "completed"

    @property
    def is_stopped(self) -> bool:
        """As far as this process knows."""
        return "stopped" in self.state.facts

    def look(self) -> None:
        """Has somebody else sealed the turn? Then the state is what the rows say."""
        if self.state.status in SEALED or self._is_stale:
            return
        with self._db.read() as tx:
            place = rows.place_of_turn.one(tx, turn=self.state.id)
        if place is not None and place.sealed_at is not None:
            self._is_stale = True
            self.refresh()

    @property
    def has_begun(self) -> bool:
        """Whether anything came yet."""
        return self.state.response_id is not None or len(self._pending) > 0

    # ------------------------------------------------------------ one chunk

    def write(self, items: list[Item]) -> None:
        """Keep one chunk. It comes in a list, so that the text of a large one can be released once it is bound."""
        if self._is_stale or self._gap is not None or self.state.status != "streaming":
            self._open_for_chunks()
        self._keep_one(items)

    def _open_for_chunks(self) -> None:
        """The state is stale, has a gap or has ended: read it again, and refuse the chunk if the turn takes none."""
        self.refresh()
        self.refuse_ended()
        self._refuse_gap()

    def _is_quick(self, chunk: dict[str, Any]) -> bool:
        return chunk["type"] in DELTAS and self._policy.at_once and "messageMetadata" not in chunk

    def _keep_one(self, items: list[Item]) -> None:
        chunk = items[0].chunk
        if self._is_quick(chunk):
            self._keep_delta(items[0])
        else:
            _check(items[0])
            self._keep(items)

    def _keep_delta(self, item: Item) -> None:
        """What comes most: nothing but a row for the chunk is due, unless the part's own row is."""
        touched = self.state.fold.apply(item.chunk)
        self._send_delta(item, touched, plain=self._writer.is_plain(item.chunk, touched))

    def _send_delta(self, item: Item, touched: int | None, *, plain: bool) -> None:
        try:
            with self._or_stale:
                if plain:
                    self._writer.insert(item.text)
                else:
                    self._store([item], [touched])
        except StoreUnavailable as lost:
            self._look_for([item], lost)
            return
        self.state.chunks += 1

    def offer(self, items: list[Item]) -> Offer | None:
        """`write`, for somebody who stores the chunks of many turns at once: if nothing is due but a row for the chunk,
        and maybe that of its part, they are given out until `conclude`. None: it is stored."""
        self._open_for_chunks()
        if self._is_quick(items[0].chunk):
            return self._offer_delta(items[0])
        self._keep_one(items)
        return None

    def _offer_delta(self, item: Item) -> Offer | None:
        touched = self.state.fold.apply(item.chunk)
        plain = self._writer.is_plain(item.chunk, touched)
        part = None if plain or touched not in self._writer.rows else self._part_row(touched)
        if (part is None and not plain) or len(item.text) + len(part.data if part else "") > LARGE:
            self._send_delta(item, touched, plain=False)
            return None
        return Offer(self._db, item, touched, self._writer.row_of(item.text), part)

    def _part_row(self, index: int) -> response.PartUpdate:
        return response.part_row(self.state, index, response.part_text(self.state, index))

    def conclude(self, offer: Offer, outcome: int | Exception) -> None:
        """How the storing of what was offered ended: how many chunks, or the error."""
        if isinstance(outcome, StoreUnavailable):
            self._look_for([offer.item], outcome)
        elif isinstance(outcome, Exception):
            with self._or_stale:
                raise outcome
        elif outcome:
            self._taken(offer)
        else:
            self._send_delta(offer.item, offer.touched, plain=offer.part is None)

    def _taken(self, offer: Offer) -> None:
        self._writer.seq += 1
        self.state.chunks += 1
        if offer.part is not None and offer.touched is not None:
            self.state.rows[offer.touched] = hash(offer.part.data)
            self._writer.saved([offer.touched])

    # ------------------------------------------------------------ several

    def append(self, items: list[Item], at: int | None) -> None:
        """All or none."""
        self.refresh()
        self.refuse_ended()
        if at is not None:
            items = items[self._stored(items, at) :]
            self._gap = None
        self._refuse_gap()
        if len(items) == 1:
            self._keep_one(items)
        elif items:
            for item in items:
                _check(item)
            self._keep(items)

    def _stored(self, items: list[Item], at: int) -> int:
        """How many of the items are in the store already, by their place; they must be the same."""
        have = self.chunks
        if at > have or at < 0:
            raise ChunkGap(self.state.id, at, have, "leaves a gap; send the chunks before it")
        count = min(have - at, len(items))
        with self._db.read() as tx:
            for place in range(count):
                known = self._chunk_at(tx, at + place)
                if known is None or not exact_json.same(known, items[place].text):
                    raise ChunkGap(self.state.id, at + place, have, "holds another chunk; nothing was changed")
        return count

    def _chunk_at(self, tx: Tx, place: int) -> str | None:
        pending = place - self.state.chunks
        if pending >= 0:
            _, text = self._pending.items[pending]
            return text
        row = tx.one(Q.chunk_at, session=self.state.session_id, begin_seq=self.state.begin_seq, at=place)
        return None if row is None else str(*row)

    def _keep(self, items: list[Item]) -> None:
        try:
            touched = self._fold_all(items)
        except PalaverError:
            if len(items) > 1:  # the fold has some of them
                self._is_stale = True
            raise
        if not self._policy.at_once:
            self._hold(items, touched)
            return
        try:
            self._store_all(items, touched)
        except StoreUnavailable as lost:
            self._look_for(items, lost)
            return
        self.state.chunks += len(items)

    def _store_all(self, items: list[Item], touched: list[int | None]) -> None:
        with self._or_stale:
            self._store(items, touched)

    def _look_for(self, items: list[Item], lost: StoreUnavailable) -> None:
        """The server was lost with these chunks on their way. What is stored says whether they arrived; if not, they
        are sent once more."""
        before = self.state.chunks
        self._settle(lost)
        self.refuse_ended()
        self._refuse_gap()
        if self.state.chunks >= before + len(items):
            return
        if any(not text for _, text in items):  # the text of a large one was released
            raise lost
        self._store_all(items, self._fold_all(items))
        self.state.chunks += len(items)

    def _settle(self, lost: StoreUnavailable) -> None:
        """Read the state again, once nothing that this process sent can still arrive: the lock uses up its number."""
        self._is_stale = True
        try:
            with self._db.write(hard=True) as tx:
                heads.lock(tx, self.state.session_id, timestamps=0)
            self.refresh()
        except StoreUnavailable:
            raise StoreUnavailable(
                f"the server was lost while turn {self.state.id} was written, and cannot say what is stored; "
                "append(…, at=n) looks, and doubles nothing"
            ) from lost

    def _refuse_gap(self) -> None:
        """A server that crashed may lose what it acknowledged since the last boundary: nothing goes on over that."""
        if self._gap is not None:
            have = self.state.chunks
            why = f"follows chunks that a crash of the server took; send {have} on"
            raise ChunkGap(self.state.id, self._gap, have, why)

    # ------------------------------------------------------------ holding back

    def _hold(self, items: list[Item], touched: list[int | None]) -> None:
        if not self._pending and self._policy.oldest is not None and self._on_hold:
            self._on_hold()
        self._pending.add(items, touched)
        self._writer.dirty.update(index for index in touched if index is not None)
        if self._policy.is_due({parsed["type"] for parsed, _ in items}, self._pending.size, self._pending.age):
            try:
                self.flush()
            except BaseException:  # these were not taken; what was accepted before stays held
                self._pending.take_back(len(items))
                raise

    def flush(self) -> None:
        """Write what is held back."""
        if not self._pending:
            return
        try:
            self._store_all(self._pending.items, self._pending.parts)
        except StoreUnavailable as lost:
            self._settle(lost)  # what had arrived after all is not held any more
            self._refuse_gap()
            if not self._pending:
                return
            self._store_all(self._pending.items, self._pending.parts)
        self.state.chunks += len(self._pending)
        self._pending.clear()

    def flush_old(self) -> float | None:
        """Write what was held back as long as it may; in how many seconds to look again, None: nothing is held."""
        oldest = self._policy.oldest
        if not self._pending or oldest is None:
            return None
        left = oldest - self._pending.age
        if left <= 0:
            self.refresh()
            self.flush()
        return max(left, 0.0) or None

    # ------------------------------------------------------------ into rows

    def _fold_all(self, items: list[Item]) -> list[int | None]:
        last = items[-1].chunk
        return [self._fold(parsed, last=parsed is last) for parsed, _ in items]

    def _fold(self, chunk: dict[str, Any], *, last: bool) -> int | None:
        touched = self.state.fold.apply(chunk)
        if not last and chunk["type"] == "finish" and self.state.fold.unresolved():
            raise TurnWaiting(self.state.id)  # one by one, the next chunk would be refused
        return touched

    def _store(self, items: list[Item], touched: list[int | None]) -> None:
        self._writer.dirty.update(i for i in touched if i is not None)
        waits = items[-1].chunk["type"] == "finish" and bool(self.state.fold.unresolved())
        hard = waits or self.is_boundary(items)
        with self._db.write(hard=hard) as tx:
            written = self._writer.write_rows(tx, items, touched, everything=hard or not self._policy.at_once)
            if waits:
                self._writer.set_waiting(tx)
        self._writer.saved(written)
        if self.state.status == "waiting":
            self.state.fence += 1  # only now is it so

    def is_boundary(self, items: list[Item]) -> bool:
        """Whether these chunks, and all before them, survive a crash of the server once they are stored."""
        return any(parsed["type"] == "finish-step" or is_result(parsed) for parsed, _ in items)

    @contextmanager
    def writing(self, *, hard: bool = False) -> Iterator[tuple[Tx, ChunkWriter]]:
        """A transaction of the turn's writer for what is not a chunk; all or nothing."""
        with self._or_stale, self._db.write(hard=hard) as tx:
            yield tx, self._writer

    def reading(self) -> AbstractContextManager[Tx]:
        return self._db.read()

    def successor(self, state: OpenTurn) -> Recorder:
        """The recorder of a turn that goes on where this one ended."""
        return Recorder(self._db, state, self._policy, on_hold=self._on_hold)

    def go_on(self, tx: Tx, rest: list[str]) -> None:
        """A turn that begins with chunks of the one before it."""
        items = [chunks.parse(text) for text in rest]
        touched = [mid_turn.go_on(self.state, parsed) for parsed, _ in items]
        self._writer.dirty.update(index for index in touched if index is not None)
        self._writer.saved(self._writer.write_rows(tx, items, touched, everything=True))
        self.state.chunks = len(items)

    # ------------------------------------------------------------ what the rows say

    def refresh(self) -> None:
        """After a failed write the rows are the truth: take the state from them again."""
        if not self._is_stale:
            return
        before = self.state
        with self._db.read() as tx:
            state = open_turn.load(tx, self.state.id)
        state.fence = before.fence
        state.facts.update({key: before.facts[key] for key in IN_MEMORY if key in before.facts})  # type: ignore[typeddict-item,literal-required]
        self._take_up(state)
        self._is_stale = False
        if state.chunks < before.chunks and state.status not in SEALED:
            self._gap = before.chunks
            self._pending.clear()
        self._hold_again(state.chunks - before.chunks)

    def _hold_again(self, arrived: int) -> None:
        """What is held, folded anew; an interrupted flush may have written some of it after all."""
        self._pending.drop(max(0, arrived))
        if self.state.status in SEALED:
            self._pending.clear()
        self._pending.parts = [self.state.fold.apply(parsed) for parsed, _ in self._pending.items]
        self._writer.dirty.update(index for index in self._pending.parts if index is not None)

    def make_ready(self, *, waiting: bool = False) -> None:
        """For a verb that is more than a chunk: the turn as its rows have it, open, with nothing held back."""
        self.refresh()
        self.refuse_ended(waiting=waiting)
        self.flush()

    def refuse_ended(self, *, waiting: bool = False) -> None:
        status = self.state.status  # every caller has refreshed it
        if status in SEALED:
            raise open_turn.sealed(self.state.id, status, self.state.facts)
        if status == "waiting" and not waiting:
            raise TurnWaiting(self.state.id)


def _check(item: Item) -> None:
    """Refuse what no caller may stream: another program's chunks, what cannot be stored, what is ours to write."""
    chunk = item.chunk
    chunks.refuse_foreign(chunk["type"])
    chunks.refuse_unfit(item)
    if chunk["type"] == COMPACTION:
        raise BadValue("data-compaction parts are written by compact(), not by hand")
    given = chunk.get("messageMetadata")
    if given is not None:
        metadata.as_given(given)
