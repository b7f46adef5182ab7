"""The recorder: between a stream of chunks and the store.

With `save_on="chunk"` every chunk is on disk when `write` returns, as one appended row, whatever the size of the
text. The part's own row, which other programs read, follows when enough time has passed and enough is new, or when the
part ends; so the cost of a chunk stays flat. What another program may see is at most that much behind; readers of ours
never are. With `step` and `turn` chunks are folded at once and held back until they are due (see saving.py).
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, NamedTuple

from . import canonical, chunks
from .canonical import LARGE
from .clock import now_ms
from .core import (
    context,
    continuing,
    heads,
    late,
    loose,
    metadata,
    pending,
    response,
    rows,
    sealing,
    sessions,
    transcript,
    turns,
    visibility,
)
from .core.compaction import Compaction
from .core.prelude import Room
from .core.tips import Tip
from .core.turns import OWN_FACTS, OpenTurn
from .db.database import Database, Tx
from .db.queries import Q
from .errors import (
    BadValue,
    ChunkGap,
    HeadConflict,
    PalaverError,
    StoreUnavailable,
    TurnSealed,
    TurnWaiting,
    UsageConflict,
)
from .folding import MISSING
from .holding import Held
from .model import SEALED, TurnInfo, Usage
from .pen import Item, Pen, chunks_are_gone, is_result
from .saving import Policy

DELTAS = {"text-delta", "reasoning-delta", "tool-input-delta"}

Chunk = Mapping[str, Any] | str | bytes

_ALL: weakref.WeakSet[Turn] = weakref.WeakSet()


class Offer(NamedTuple):
    """A chunk that is folded, and what is to be stored of it."""

    db: Database
    turn: Turn
    item: Item
    touched: int | None
    row: tuple[Any, ...]
    part: tuple[Any, ...] | None  # its part's row, where that is due


class Turn:
    """An open turn. Leave its `with` block and it is sealed: completed, or aborted on an exception."""

    def __init__(
        self,
        db: Database,
        room: Room,
        state: OpenTurn,
        *,
        policy: Policy,
        on_end: Callable[[Turn], None] | None = None,
        on_hold: Callable[[], None] | None = None,
        on_begin: Callable[[Turn], None] | None = None,
        resumed: bool = False,
    ) -> None:
        self._db = db
        self._room = room
        self._policy = policy
        self._on_end = on_end
        self._on_hold = on_hold
        self._on_begin = on_begin
        self._lock = threading.RLock()
        _ALL.add(self)
        self._take_up(state)
        self._held = Held()
        self._stale = False
        self._gap: int | None = None  # so many chunks there were, before a crash of the server took some
        self._ended_as = "completed"
        self._resumed = resumed

    # ------------------------------------------------------------ what it is

    def _take_up(self, state: OpenTurn) -> None:
        """A state, and a pen for it; they change together."""
        self._state, self._pen = state, Pen(self._db, state, self._policy)

    @property
    def _began(self) -> tuple[str, int]:
        """Where its beginning stands among the events of its session."""
        return self.session_id, self._state.begin_seq

    @property
    def id(self) -> str:
        return self._state.id

    @property
    def session_id(self) -> str:
        return self._state.session_id

    @property
    def status(self) -> str:
        with self._lock:
            self._refresh()
            return self._state.status

    @property
    def chunks(self) -> int:
        """How many chunks were taken: the `at` of the next one."""
        with self._lock:
            self._refresh()
            return self._state.chunks + len(self._held)

    @property
    def stored(self) -> int:
        """How many of them are on disk: all, unless the save policy holds some back."""
        with self._lock:
            self._refresh()
            return self._state.chunks

    @property
    def message_id(self) -> str | None:
        """The row of the response, once there is one."""
        with self._lock:
            self._refresh()
            return self._state.response_id

    def message(self) -> dict[str, Any]:
        """The response so far, as plain values."""
        with self._lock:
            self._refresh()
            parsed: dict[str, Any] = canonical.parse(canonical.dump(self._state.fold.message()))
            return parsed

    def __repr__(self) -> str:
        return f"<Turn {self.id} {self.status}>"

    # ------------------------------------------------------------ writing

    def write(self, chunk: Chunk, *, at: int | None = None) -> None:
        """Keep one chunk. When this returns it survives the process, unless `save_on` says later."""
        if at is not None:
            self.append((chunk,), at=at)
            return
        items = [chunks.parse(chunk)]
        with self._lock:
            if self._stale or self._gap is not None or self._state.status != "streaming":
                self._make_ready()
            self._keep_one(items)

    def _make_ready(self) -> None:
        """Something is not as it mostly is: the state is asked for again, or the chunk refused."""
        self._refresh()
        self._usable()
        self._refuse_gap()

    def _is_quick(self, item: Item) -> bool:
        return item[0]["type"] in DELTAS and self._policy.at_once and "messageMetadata" not in item[0]

    def _keep_one(self, items: list[Item]) -> None:
        """In a list, out of which a large one can be let go of."""
        if self._is_quick(items[0]):
            self._keep_delta(items[0])
        else:
            _refuse_what_is_ours(items[0][0])
            self._keep(items)

    def _keep_delta(self, item: Item) -> None:
        """What comes most: nothing but a row for the chunk is due, unless the part's own row is."""
        touched = self._state.fold.apply(item[0])
        self._send_delta(item, touched, plain=self._pen.is_plain(item[0], touched))

    def _send_delta(self, item: Item, touched: int | None, *, plain: bool) -> None:
        try:
            if plain:
                self._pen.insert(item[1])
            else:
                self._store([item], [touched])
        except StoreUnavailable as lost:
            self._look_for([item], lost)
            return
        except BaseException:
            self._stale = True
            raise
        self._state.chunks += 1

    def _offer(self, chunk: Chunk) -> Offer | None:
        """`write`, for somebody who stores the chunks of many turns at once: if nothing is due but a row for the chunk,
        and maybe that of its part, they are given out, and the turn is locked until `_conclude`. None: it is stored."""
        items = [chunks.parse(chunk)]
        self._lock.acquire()
        offer = None
        try:
            self._make_ready()
            if self._is_quick(items[0]):
                offer = self._offer_delta(items[0])
            else:
                self._keep_one(items)
            return offer
        finally:
            if offer is None:
                self._lock.release()

    def _offer_delta(self, item: Item) -> Offer | None:
        touched = self._state.fold.apply(item[0])
        plain = self._pen.is_plain(item[0], touched)
        part = None if plain or touched not in self._pen.rows else self._part_row(touched)
        if (part is None and not plain) or len(item[1]) + len(part[1] if part else "") > LARGE:
            self._send_delta(item, touched, plain=False)
            return None
        return Offer(self._db, self, item, touched, self._pen.row_of(item[1]), part)

    def _part_row(self, index: int) -> tuple[Any, ...]:
        return response.part_row(self._state, index, response.part_text(self._state, index))

    def _conclude(self, offer: Offer, outcome: int | Exception) -> None:
        """How the storing of what was offered ended: how many chunks, or the error."""
        try:
            if isinstance(outcome, StoreUnavailable):
                self._look_for([offer.item], outcome)
            elif isinstance(outcome, Exception):
                self._stale = True
                raise outcome
            elif outcome:
                self._taken(offer)
            else:
                self._send_delta(offer.item, offer.touched, plain=offer.part is None)
        finally:
            self._lock.release()

    def _taken(self, offer: Offer) -> None:
        self._pen.seq += 1
        self._state.chunks += 1
        if offer.part is not None and offer.touched is not None:
            self._state.rows[offer.touched] = hash(offer.part[1])
            self._pen.saved([offer.touched])

    def append(self, given: Iterable[Chunk], *, at: int | None = None) -> None:
        """Keep chunks, all or none. `at` says how many were stored before: chunks stored already are not doubled."""
        items = [chunks.parse(one) for one in given]
        with self._lock:
            self._refresh()
            self._usable()
            if at is not None:
                items = items[self._stored(items, at) :]
                self._gap = None
            self._refuse_gap()
            if len(items) == 1:
                self._keep_one(items)
            elif items:
                for parsed, _ in items:
                    _refuse_what_is_ours(parsed)
                self._keep(items)

    def _stored(self, items: list[Item], at: int) -> int:
        """How many of the items are in the store already, by their place; they must be the same."""
        have = self._state.chunks + len(self._held)
        if at > have or at < 0:
            raise ChunkGap(self.id, at, have, "leaves a gap; send the chunks before it")
        count = min(have - at, len(items))
        with self._db.read() as tx:
            for place in range(count):
                known = self._chunk_at(tx, at + place)
                if known is None or not canonical.same(known, items[place][1]):
                    raise ChunkGap(self.id, at + place, have, "holds another chunk; nothing was changed")
        return count

    def _chunk_at(self, tx: Tx, place: int) -> str | None:
        held = place - self._state.chunks
        if held >= 0:
            return self._held.items[held][1]
        row = tx.one(Q.chunk_at, session=self.session_id, begin_seq=self._state.begin_seq, at=place)
        return None if row is None else str(row[0])

    def _keep(self, items: list[Item]) -> None:
        try:
            touched = [self._fold(parsed, last=parsed is items[-1][0]) for parsed, _ in items]
        except PalaverError:
            self._stale = len(items) > 1
            raise
        if not self._policy.at_once:
            self._hold(items, touched)
            return
        try:
            self._store_all(items, touched)
        except StoreUnavailable as lost:
            self._look_for(items, lost)
            return
        self._state.chunks += len(items)

    def _store_all(self, items: list[Item], touched: list[int | None]) -> None:
        """Whatever goes wrong: then the rows are the truth."""
        try:
            self._store(items, touched)
        except BaseException:
            self._stale = True
            raise

    def _look_for(self, items: list[Item], lost: StoreUnavailable) -> None:
        """The server was lost with these chunks on their way. What is stored says whether they arrived; if not, they
        are sent once more."""
        before = self._state.chunks
        self._settle(lost)
        self._usable()
        self._refuse_gap()
        if self._state.chunks >= before + len(items):
            return
        if any(not text for _, text in items):  # a large one was let go of
            raise lost
        self._store_all(items, [self._fold(parsed, last=parsed is items[-1][0]) for parsed, _ in items])
        self._state.chunks += len(items)

    def _settle(self, lost: StoreUnavailable) -> None:
        """Take the state from what is stored, after nothing that is still on its way can arrive: its number is gone."""
        self._stale = True
        try:
            with self._db.write(hard=True) as tx:
                heads.take(tx, self.session_id, stamps=0)
            self._refresh()
        except StoreUnavailable:
            raise StoreUnavailable(
                f"the server was lost while turn {self.id} was written, and cannot say what is stored; "
                "append(…, at=n) looks, and doubles nothing"
            ) from lost

    def _refuse_gap(self) -> None:
        """A server that crashed may lose what it acknowledged since the last boundary: nothing goes on over that."""
        if self._gap is not None:
            have = self._state.chunks
            raise ChunkGap(self.id, self._gap, have, f"follows chunks that a crash of the server took; send {have} on")

    # ------------------------------------------------------------ holding back

    def _hold(self, items: list[Item], touched: list[int | None]) -> None:
        if not self._held and self._policy.oldest is not None and self._on_hold:
            self._on_hold()
        self._held.add(items, touched)
        self._pen.dirty.update(index for index in touched if index is not None)
        if self._policy.is_due({parsed["type"] for parsed, _ in items}, self._held.size, self._held.age):
            try:
                self._flush()
            except BaseException:  # these were not taken; what was accepted before stays held
                self._held.take_back(len(items))
                raise

    def flush(self) -> None:
        """Write what the save policy holds back."""
        with self._lock:
            self._refresh()
            self._flush()

    def _flush_old(self) -> float | None:
        """Write what was held back as long as it may; in how many seconds to look again, None: nothing is held."""
        with self._lock:
            oldest = self._policy.oldest
            if not self._held or oldest is None:
                return None
            left = oldest - self._held.age
            if left <= 0:
                self.flush()
            return max(left, 0.0) or None

    def _flush(self) -> None:
        if not self._held:
            return
        try:
            self._store_all(self._held.items, self._held.parts)
        except StoreUnavailable as lost:
            self._settle(lost)  # what had arrived after all is not held any more
            self._refuse_gap()
            if not self._held:
                return
            self._store_all(self._held.items, self._held.parts)
        self._state.chunks += len(self._held)
        self._held.clear()

    def _fold(self, chunk: dict[str, Any], *, last: bool) -> int | None:
        touched = self._state.fold.apply(chunk)
        if not last and chunk["type"] == "finish" and self._state.fold.unresolved():
            raise TurnWaiting(self.id)  # one by one, the next chunk would be refused
        return touched

    def _refresh(self) -> None:
        """After a failed write the rows are the truth: take the state from them again."""
        if not self._stale:
            return
        before = self._state
        with self._db.read() as tx:
            state = turns.load(tx, self.id)
        state.fence = before.fence
        state.facts |= {key: before.facts[key] for key in OWN_FACTS if key in before.facts}
        self._take_up(state)
        self._stale = False
        if state.chunks < before.chunks and state.status not in SEALED:
            self._gap = before.chunks
            self._held.clear()
        self._hold_again(state.chunks - before.chunks)

    def _hold_again(self, arrived: int) -> None:
        """What is held, folded anew; an interrupted flush may have written some of it after all."""
        self._held.drop(max(0, arrived))
        if self._state.status in SEALED:
            self._held.clear()
        self._held.parts = [self._state.fold.apply(parsed) for parsed, _ in self._held.items]
        self._pen.dirty.update(index for index in self._held.parts if index is not None)

    def _store(self, items: list[Item], touched: list[int | None]) -> None:
        self._pen.dirty.update(i for i in touched if i is not None)
        waits = items[-1][0]["type"] == "finish" and bool(self._state.fold.unresolved())
        hard = waits or any(parsed["type"] == "finish-step" or is_result(parsed) for parsed, _ in items)
        with self._db.write(hard=hard) as tx:
            written = self._pen.write_rows(tx, items, touched, everything=hard or not self._policy.at_once)
            if waits:
                self._set_waiting(tx)
        self._pen.saved(written)
        self._note_end(items)
        if self._state.status == "waiting":
            self._state.fence += 1  # only now is it so

    def _note_end(self, items: list[Item]) -> None:
        for parsed, _ in items:
            if parsed["type"] == "abort":
                self._ended_as = "aborted"
            elif parsed["type"] == "error":
                self._ended_as = "failed"
                self._state.facts["error"] = str(parsed.get("errorText", ""))

    # ------------------------------------------------------------ usage

    def usage(
        self,
        *,
        input: int = 0,
        output: int = 0,
        reasoning: int = 0,
        cache_read: int = 0,
        cache_write: int = 0,
        model: Any = None,
        cost_usd: float | None = None,
    ) -> None:
        """Tokens used since the last call. `input` excludes the cache. The store never computes a cost."""
        given = Usage(input, output, reasoning, cache_read, cache_write)
        if any(type(n) is not int or n < 0 for n in given.counts()):
            raise BadValue("token counts are whole numbers, 0 or more")
        if cost_usd is not None:
            canonical.check(cost_usd)
        with self._lock:
            self._refresh()
            self._usable(waiting=True)
            self._flush()
            if response.has_caller_usage(self._state):
                raise UsageConflict(self.id)
            self._change(lambda tx: self._count(tx, given, cost_usd or 0.0, model))

    def _count(self, tx: Tx, given: Usage, cost: float, model: Any) -> None:
        state = self._state
        if state.response_id is None:  # tokens have a home as soon as they are told
            self._pen.seq = response.open_response(tx, state)
        state.told = True
        if model is not None:
            state.facts["model"] = sessions.as_model(model)
            tx.later(Q.set_facts, turn=state.id, fence=state.fence, facts=canonical.encode(state.facts))
        response.count_usage(tx, state, state.usage + given, state.cost + cost)
        response.write_metadata(tx, state)
        self._pen.event(tx, "usage", {"usage": canonical.Raw(given.json().encode()), "cost_usd": cost})

    def _change(self, work: Callable[[Tx], None], *, hard: bool = False) -> None:
        """A change of the turn that is not a chunk: guarded by the fence, all or nothing."""
        try:
            with self._db.write(hard=hard) as tx:
                self._pen.renumber(tx)
                work(tx)
        except BaseException:
            self._stale = True
            raise

    # ------------------------------------------------------------ waiting and results from outside

    def resolve(
        self,
        tool_call_id: str,
        *,
        output: Any = MISSING,
        error: str | None = None,
        approved: bool | None = None,
        reason: str | None = None,
    ) -> None:
        """A tool's result, or the answer to an approval request, that did not come through the stream."""
        data: dict[str, Any] = {"tool_call_id": tool_call_id}
        if output is not MISSING:
            data["output"] = canonical.Raw(canonical.encode(output).encode())
        given = {"error": error, "approved": approved, "reason": reason}
        data |= {key: value for key, value in given.items() if value is not None}
        canonical.parse(canonical.encode(data))
        with self._lock:
            self._refresh()
            if self.status in SEALED:
                raise TurnSealed(self.id, self.status, late=self._keep_late(data))
            try:
                self._flush()
            except TurnSealed as sealed:
                raise TurnSealed(self.id, sealed.status, late=self._keep_late(data)) from None
            self._resolve(data)

    def _resolve(self, data: dict[str, Any]) -> None:
        index = self._state.fold.resolve(**data)

        def store(tx: Tx) -> None:
            self._pen.event(tx, "resolve", data)
            self._pen.write_dirty(tx, index)
            if "approved" not in data:
                self._state.add(tx, "result", self._state.part_ids[index])

        try:
            self._change(store, hard=True)
        except TurnSealed as sealed:
            raise TurnSealed(self.id, sealed.status, late=self._keep_late(data)) from None
        self._pen.dirty.clear()

    def _keep_late(self, data: dict[str, Any]) -> str | None:
        """A result is kept beside the sealed turn; an answer to a question that is over is not a result."""
        if "approved" in data:
            return None
        with self._db.write(hard=True) as tx:
            return late.keep(tx, self.id, data)

    def wait(self) -> None:
        """Leave the turn open for somebody to answer: minutes or days. `session.resume(turn.id)` continues it."""
        with self._lock:
            self._refresh()
            self._usable()
            self._flush()
            self._change(self._go_waiting, hard=True)
            self._state.fence += 1
            self._pen.dirty.clear()

    def _go_waiting(self, tx: Tx) -> None:
        self._pen.write_dirty(tx)
        self._set_waiting(tx)

    def _set_waiting(self, tx: Tx) -> None:
        state = self._state
        if tx.run(Q.set_status, status="waiting", owner=None, turn=state.id, fence=state.fence) != 1:
            raise turns.sealed_error(tx, state.id)
        self._pen.event(tx, "wait", {"turn": state.id})
        state.status = "waiting"

    # ------------------------------------------------------------ what is in force, and what a model sees

    def used(self, permission: str) -> None:
        """Note that the turn made use of a permission: beside those it was granted, for whoever audits it."""
        if not canonical.check_column("permission", permission):
            raise BadValue("a permission that was used has a name")
        with self._lock:
            self._refresh()
            self._usable(waiting=True)
            facts = self._state.facts
            if permission not in facts.get("permissions_used", ()):
                facts["permissions_used"] = [*facts.get("permissions_used", ()), permission]
                self._change(self._write_facts)

    def _write_facts(self, tx: Tx) -> None:
        state = self._state
        tx.later(Q.set_facts, turn=state.id, fence=state.fence, facts=canonical.encode(state.facts))

    def context(self, *, system: str | None = None) -> list[dict[str, Any]]:
        """What a model should see to go on with this turn: what is before it, and what it has so far."""
        with self._lock:
            self._refresh()
            self._flush()
            with self._db.read() as tx:
                own = transcript.read_open(tx, self.session_id, self.id)
                if system is None:
                    system = context.prompt(tx, self._state.facts.get("metadata"))
                return context.assemble(tx, self._state.parent_id, own, system)

    def compact(self, summary: str, keep_from: str | TurnInfo | Turn | None = None, **given: Any) -> Turn:
        """Compact while the turn runs: it is sealed at its last finished step, the summary follows, and the turn that
        is returned goes on from there; all of it or nothing. Takes what `session.compact` takes."""
        said = Compaction.of(summary, given)
        with self._lock:
            self._refresh()
            self._usable()
            self._flush()
            try:
                with self._db.write(hard=True) as tx:
                    where = keep_from if keep_from is None or isinstance(keep_from, str) else keep_from.id
                    going_on = continuing.compact(tx, self._room.looks, self._state, said, where)
                    if going_on is None:
                        raise HeadConflict(self.session_id, self._state.base_revision, self._who_was_first(tx))
                    turn = self._successor(tx, *going_on)
            except BaseException:
                self._stale = True
                raise
            self._end()
            if self._on_begin:
                self._on_begin(turn)
            return turn

    def _successor(self, tx: Tx, state: OpenTurn, rest: list[str]) -> Turn:
        """The turn that goes on, with the chunks of the step that was not finished."""
        turn = Turn(
            self._db,
            self._room,
            state,
            policy=self._policy,
            on_end=self._on_end,
            on_hold=self._on_hold,
            on_begin=self._on_begin,
        )
        if rest:
            items = [chunks.parse(text) for text in rest]
            touched = [continuing.go_on(state, parsed) for parsed, _ in items]
            turn._pen.dirty.update(index for index in touched if index is not None)
            turn._pen.saved(turn._pen.write_rows(tx, items, touched, everything=True))
            turn._note_end(items)
            state.chunks = len(items)
        return turn

    # ------------------------------------------------------------ the end

    def seal(self, status: str | None = None) -> None:
        """Freeze the turn and move the head to it. HeadConflict: somebody else moved it first."""
        with self._lock:
            self._refresh()
            self._usable(waiting=True)
            self._flush()
            status = status or self._ended_as
            if status not in SEALED:
                raise BadValue(f"a turn ends as completed, failed or aborted, not {status!r}")
            try:
                landed = self._seal(status)
            except BaseException:
                self._stale = True
                raise
            if landed is not None:
                self._drift(status, landed)
            self._end()

    def abort(self, reason: str | None = None) -> None:
        """End the turn with what it has; open tool calls are closed as interrupted."""
        with self._lock:
            if reason is not None:
                self._state.facts["abort_reason"] = reason
            self.seal("aborted")

    def _seal(self, status: str) -> int | None:
        """None: landed. Otherwise the revision that somebody else moved the head to."""
        state = self._state
        with self._db.write(hard=True) as tx:
            moved = heads.seal(tx, state.session_id, state.id, expected=state.base_revision, fence=state.fence)
            if moved is None:
                return self._who_was_first(tx)
            if moved.head.event_seq <= self._pen.seq:
                raise chunks_are_gone(self.id)
            found = loose.look(tx, moved.head, self._room.looks)
            thread = sealing.freeze(tx, state, status, (lambda: loose.take_in(tx, state, found)) if found else None)
            sealing.touch(tx, state.session_id, state.facts, now_ms())
            link = moved.log(tx, "seal")
            if moved.head.open_turns > 1:
                visibility.hide_open_turns(tx, moved.head)
        self._room.tips.put(state.session_id, Tip(state.id, moved.head.event_seq, link, thread))
        return None

    def _who_was_first(self, tx: Tx) -> int:
        self._pen.renumber(tx)
        row = tx.one(Q.read_head, session=self.session_id)
        assert row is not None
        return int(row[1])

    def _drift(self, status: str, actual: int) -> None:
        """The race is lost: keep the work as a stray and say so."""
        state = self._state
        with self._db.write(hard=True) as tx:
            self._pen.renumber(tx)
            head = heads.take(tx, state.session_id, stamps=0)
            sealing.freeze(tx, state, status)
            sealing.set_adrift(tx, head, state)
        self._end()
        raise HeadConflict(state.session_id, state.base_revision, actual, stray=state.id)

    def _end(self) -> None:
        if self._on_end:
            self._on_end(self)

    def _usable(self, *, waiting: bool = False) -> None:
        status = self._state.status  # every caller has refreshed it
        if status in SEALED:
            raise TurnSealed(self.id, status)
        if status == "waiting" and not waiting:
            raise TurnWaiting(self.id)

    def __enter__(self) -> Turn:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.status in SEALED or (self.status == "waiting" and error is None):
            return
        if error is None:
            self._leave()
            return
        try:
            if self.give_back():
                return
            self.abort(f"{type(error).__name__}: {error}"[:500])
        except PalaverError as failure:  # the exception on its way out matters more
            error.add_note(f"palaver: the turn was not put on the path: {failure}")

    def give_back(self) -> bool:
        """A queued message whose start failed before anything came waits again, once. False: it does not."""
        with self._lock:
            if self._state.response_id is not None or self._held or self._state.status != "streaming":
                return False
            with self._db.write(hard=True) as tx:
                head = heads.take(tx, self.session_id, stamps=0)
                given = pending.give_back(tx, head, self.id, self._state.fence)
            if given:
                self._state.status = "aborted"
                self._end()
            return given

    def _leave(self) -> None:
        """After a resume, tools may still be unanswered: then it goes on waiting."""
        if self._resumed and self._state.fold.unresolved():
            self.wait()
        else:
            self.seal()


def _refuse_what_is_ours(chunk: dict[str, Any]) -> None:
    if chunk["type"] == rows.COMPACTION:
        raise BadValue("data-compaction parts are written by compact(), not by hand")
    given = chunk.get("messageMetadata")
    if given is not None:
        metadata.as_given(given)


def _after_fork() -> None:
    """A forked child has no other threads: it must not wait for the locks they held, but be refused."""
    for turn in list(_ALL):
        turn._lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)
