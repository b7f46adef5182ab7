"""The recorder: between a stream of chunks and the store.

With `save_on="chunk"` every chunk is on disk when `write` returns, as one appended row, whatever the size of the
text. The part's own row, which other programs read, follows when `save_buffer_ms` have passed and enough is new, or
when the part ends; so the cost of a chunk stays flat. What another program may see is at most that much behind;
readers of ours never are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any

from . import canonical, chunks
from .clock import monotonic, now_ms
from .core import heads, late, loose, metadata, response, rows, sealing, sessions, turns, visibility
from .core.prelude import Room
from .core.turns import OpenTurn
from .db.database import Database, Tx
from .db.queries import Q
from .errors import (
    BadValue,
    ChunkGap,
    HeadConflict,
    PalaverError,
    SessionNotFound,
    TurnSealed,
    TurnWaiting,
    UsageConflict,
)
from .folding import MISSING
from .model import SEALED, Usage

DELTAS = {"text-delta", "reasoning-delta", "tool-input-delta"}
RESULTS = {"tool-output-available", "tool-output-error", "tool-output-denied"}
STEPS = {"finish-step", "finish"}
_GROWTH = 4096  # characters after which a part's row may be one more buffer time behind
assert Q.append_chunk.names == ("session", "seq", "data", "at", "turn", "fence")

Chunk = Mapping[str, Any] | str | bytes


class Turn:
    """An open turn. Leave its `with` block and it is sealed: completed, or aborted on an exception."""

    def __init__(
        self,
        db: Database,
        room: Room,
        state: OpenTurn,
        *,
        save_buffer_ms: float = 50.0,
        on_end: Callable[[Turn], None] | None = None,
        resumed: bool = False,
    ) -> None:
        self._db = db
        self._room = room
        self._state = state
        self._buffer = save_buffer_ms / 1000
        self._on_end = on_end
        self._lock = threading.RLock()
        self._seq = state.begin_seq
        self._rows: dict[int, _Row] = {}
        self._dirty: set[int] = set()
        self._stale = False
        self._ended_as = "completed"
        self._resumed = resumed

    # ------------------------------------------------------------ what it is

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
        """How many chunks are stored: the `at` of the next one."""
        return self._state.chunks

    @property
    def message_id(self) -> str | None:
        """The row of the response, once there is one."""
        return self._state.response_id

    def message(self) -> dict[str, Any]:
        """The response so far, as plain values."""
        with self._lock:
            parsed: dict[str, Any] = canonical.parse(canonical.dump(self._state.fold.message()))
            return parsed

    def __repr__(self) -> str:
        return f"<Turn {self.id} {self.status}>"

    # ------------------------------------------------------------ writing

    def write(self, chunk: Chunk, *, at: int | None = None) -> None:
        """Keep one chunk. When this returns it survives the process."""
        self.append((chunk,), at=at)

    def append(self, given: Iterable[Chunk], *, at: int | None = None) -> None:
        """Keep chunks, all or none. `at` says how many were stored before: chunks stored already are not doubled."""
        items = [chunks.parse(one) for one in given]
        with self._lock:
            self._refresh()
            self._usable()
            if at is not None:
                items = items[self._stored(items, at) :]
            for parsed, _ in items:
                _refuse_what_is_ours(parsed)
            if items:
                self._keep(items)

    def _stored(self, items: list[tuple[dict[str, Any], str]], at: int) -> int:
        """How many of the items are in the store already, by their place; they must be the same."""
        have = self._state.chunks
        if at > have or at < 0:
            raise ChunkGap(self.id, at, have, "leaves a gap; send the chunks before it")
        count = min(have - at, len(items))
        with self._db.read() as tx:
            for place in range(count):
                row = tx.one(Q.chunk_at, session=self.session_id, begin_seq=self._state.begin_seq, at=at + place)
                if row is None or not canonical.same(row[0], items[place][1]):
                    raise ChunkGap(self.id, at + place, have, "holds another chunk; nothing was changed")
        return count

    def _keep(self, items: list[tuple[dict[str, Any], str]]) -> None:
        try:
            touched = [self._fold(parsed, last=parsed is items[-1][0]) for parsed, _ in items]
        except PalaverError:
            self._stale = len(items) > 1
            raise
        try:
            self._store(items, touched)
        except BaseException:
            self._stale = True
            raise
        self._state.chunks += len(items)

    def _fold(self, chunk: dict[str, Any], *, last: bool) -> int | None:
        touched = self._state.fold.apply(chunk)
        if not last and chunk["type"] == "finish" and self._state.fold.unresolved():
            raise TurnWaiting(self.id)  # one by one, the next chunk would be refused
        return touched

    def _refresh(self) -> None:
        """After a failed write the rows are the truth: take the state from them again."""
        if not self._stale:
            return
        fence = self._state.fence
        with self._db.read() as tx:
            self._state = turns.load(tx, self.id)
        self._state.fence = fence
        self._rows.clear()
        self._dirty.clear()
        self._stale = False

    def _store(self, items: list[tuple[dict[str, Any], str]], touched: list[int | None]) -> None:
        if len(items) == 1 and self._is_plain(items[0][0], touched[0]):
            self._insert(items[0][1])
            return
        kinds = {parsed["type"] for parsed, _ in items}
        self._dirty.update(i for i in touched if i is not None)
        hard = bool(kinds & STEPS) or any(_is_result(parsed) for parsed, _ in items)
        with self._db.write(hard=hard) as tx:
            self._write_chunks(tx, items)
            written = self._write_parts(tx, items, touched, everything=hard)
            if any(chunks.decoded(p.get("messageMetadata")) is not None for p, _ in items):
                response.write_metadata(tx, self._state)
            if "start" in kinds:
                response.rename_response(tx, self._state)
            if kinds & STEPS:
                tx.later(Q.touch_session, session=self.session_id, now=now_ms())
            if items[-1][0]["type"] == "finish" and self._state.fold.unresolved():
                self._set_waiting(tx)
        self._after(items, written)

    def _is_plain(self, chunk: dict[str, Any], index: int | None) -> bool:
        """Nothing but a row for the chunk is due."""
        kind = chunk["type"]
        if self._state.response_id is None or kind not in DELTAS or index is None:
            return False
        row = self._rows.get(index)
        if row is None:
            return False
        row.size += len(chunk.get("delta") or chunk.get("inputTextDelta") or "")
        self._dirty.add(index)
        return not row.is_due(self._buffer)

    def _insert(self, text: str) -> None:
        state = self._state
        while True:
            params = (state.session_id, self._seq + 1, text, now_ms(), state.id, state.fence)
            if self._db.insert(Q.append_chunk, params):
                self._seq += 1
                return
            with self._db.read() as tx:
                self._renumber(tx)

    def _write_chunks(self, tx: Tx, items: list[tuple[dict[str, Any], str]]) -> None:
        state = self._state
        for _, text in items:
            if state.response_id is None:
                self._seq = response.open_response(tx, state)
                tx.later(
                    Q.insert_event,
                    session=state.session_id,
                    seq=self._seq,
                    kind="chunk",
                    turn=state.begin_seq,
                    data=text,
                    at=now_ms(),
                )
                continue
            while not tx.run(
                Q.append_chunk,
                session=state.session_id,
                seq=self._seq + 1,
                data=text,
                at=now_ms(),
                turn=state.id,
                fence=state.fence,
            ):
                self._renumber(tx)
            self._seq += 1

    def _renumber(self, tx: Tx) -> None:
        """A chunk was not taken: the turn is not ours any more, or another turn used the number."""
        row = tx.one(Q.where_turn_stands, turn=self.id, session=self.session_id)
        if row is None or row[1] is not None or row[2] != self._state.fence:
            raise turns.sealed_error(tx, self.id)
        self._seq = max(row[3], row[5] or 0)

    def _write_parts(
        self, tx: Tx, items: list[tuple[dict[str, Any], str]], touched: list[int | None], *, everything: bool
    ) -> list[int]:
        state = self._state
        due = sorted(self._dirty) if everything else sorted({i for i in touched if i is not None})
        if due and due[-1] >= len(state.part_ids) and tx.one(Q.session_exists, session=self.session_id) is None:
            raise SessionNotFound(self.session_id, "another program removed its row")
        for index in due:
            response.write_part(tx, state, index)
        for (parsed, _), place in zip(items, touched, strict=True):
            if place is not None and _is_result(parsed):
                state.add(tx, "result", state.part_ids[place])
        return due

    def _after(self, items: list[tuple[dict[str, Any], str]], written: list[int]) -> None:
        now = monotonic()
        for index in written:
            row = self._rows.setdefault(index, _Row())
            row.saved(now)
        self._dirty.difference_update(written)
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
            if response.has_caller_usage(self._state):
                raise UsageConflict(self.id)
            self._change(lambda tx: self._count(tx, given, cost_usd or 0.0, model))

    def _count(self, tx: Tx, given: Usage, cost: float, model: Any) -> None:
        state = self._state
        if state.response_id is None:  # tokens have a home as soon as they are told
            self._seq = response.open_response(tx, state)
        state.told = True
        if model is not None:
            state.facts["model"] = sessions.as_model(model)
            tx.later(Q.set_facts, turn=state.id, fence=state.fence, facts=canonical.encode(state.facts))
        response.count_usage(tx, state, state.usage + given, state.cost + cost)
        response.write_metadata(tx, state)
        self._event(tx, "usage", {"usage": canonical.Raw(given.json().encode()), "cost_usd": cost})

    def _change(self, work: Callable[[Tx], None], *, hard: bool = False) -> None:
        """A change of the turn that is not a chunk: guarded by the fence, all or nothing."""
        try:
            with self._db.write(hard=hard) as tx:
                self._renumber(tx)
                work(tx)
        except BaseException:
            self._stale = True
            raise

    def _event(self, tx: Tx, kind: str, data: Any) -> None:
        self._seq += 1
        tx.later(
            Q.insert_event,
            session=self.session_id,
            seq=self._seq,
            kind=kind,
            turn=self._state.begin_seq,
            data=canonical.encode(data),
            at=now_ms(),
        )

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
            self._resolve(data)

    def _resolve(self, data: dict[str, Any]) -> None:
        index = self._state.fold.resolve(**data)

        def store(tx: Tx) -> None:
            self._event(tx, "resolve", data)
            for dirty in sorted(self._dirty | {index}):
                response.write_part(tx, self._state, dirty)
            if "approved" not in data:
                self._state.add(tx, "result", self._state.part_ids[index])

        try:
            self._change(store, hard=True)
        except TurnSealed as sealed:
            raise TurnSealed(self.id, sealed.status, late=self._keep_late(data)) from None
        self._dirty.clear()

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
            self._change(self._go_waiting, hard=True)
            self._dirty.clear()

    def _go_waiting(self, tx: Tx) -> None:
        for index in sorted(self._dirty):
            response.write_part(tx, self._state, index)
        self._set_waiting(tx)

    def _set_waiting(self, tx: Tx) -> None:
        state = self._state
        if tx.run(Q.set_status, status="waiting", owner=None, turn=state.id, fence=state.fence) != 1:
            raise turns.sealed_error(tx, state.id)
        self._event(tx, "wait", {"turn": state.id})
        state.fence += 1
        state.status = "waiting"

    # ------------------------------------------------------------ the end

    def seal(self, status: str | None = None) -> None:
        """Freeze the turn and move the head to it. HeadConflict: somebody else moved it first."""
        with self._lock:
            self._refresh()
            self._usable(waiting=True)
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
            found = loose.look(tx, moved.head, self._room.looks)
            sealing.freeze(tx, state, status, (lambda: loose.take_in(tx, state, found)) if found else None)
            sealing.touch(tx, state)
            heads.log_advance(tx, moved, kind="seal")
            if moved.head.open_turns > 1:
                visibility.hide_open_turns(tx, moved.head)
        return None

    def _who_was_first(self, tx: Tx) -> int:
        self._renumber(tx)
        row = tx.one(Q.read_head, session=self.session_id)
        assert row is not None
        return int(row[1])

    def _drift(self, status: str, actual: int) -> None:
        """The race is lost: keep the work as a stray and say so."""
        state = self._state
        with self._db.write(hard=True) as tx:
            self._renumber(tx)
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
            self.abort(f"{type(error).__name__}: {error}"[:500])
        except PalaverError as failure:  # the exception on its way out matters more
            error.add_note(f"palaver: the turn was not put on the path: {failure}")

    def _leave(self) -> None:
        """After a resume, tools may still be unanswered: then it goes on waiting."""
        if self._resumed and self._state.fold.unresolved():
            self.wait()
        else:
            self.seal()


class _Row:
    """How far a part's row is behind its fold."""

    __slots__ = ("at", "saved_size", "size")

    def __init__(self) -> None:
        self.at = 0.0
        self.size = 0
        self.saved_size = 0

    def saved(self, now: float) -> None:
        self.at = now
        self.saved_size = self.size

    def is_due(self, buffer: float) -> bool:
        """Enough time and enough new text; or, for little text, a time that grows with the size."""
        waited = monotonic() - self.at
        if waited < buffer:
            return False
        new = self.size - self.saved_size
        return new * 16 >= self.size or waited >= buffer * (1 + self.size / _GROWTH)


def _is_result(chunk: dict[str, Any]) -> bool:
    return chunk["type"] in RESULTS and not chunk.get("preliminary")


def _refuse_what_is_ours(chunk: dict[str, Any]) -> None:
    if chunk["type"] == rows.COMPACTION:
        raise BadValue("data-compaction parts are written by compact(), not by hand")
    given = chunk.get("messageMetadata")
    if given is not None:
        metadata.as_given(given)
