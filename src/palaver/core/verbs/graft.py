"""History comes in: turns that happened elsewhere become sealed turns under any parent, with their own times.

One transaction writes one batch of a session. While the head stands where the last graft left it, it follows, and each
turn has a line of the reflog at its own time (which never goes back); else the turns are kept beside the path. Rows off
the path are born hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import SessionArchived, SessionDeleted, UsageKeyTaken
from ...model import Usage
from .. import heads, rows
from ..facts import TurnFacts
from ..foreign import hidden_stamps
from ..read import natives, previews, summaries
from ..read.heads import Head, Thread, thread_of
from ..read.natives import Key
from ..read.unsettled import is_settled, stands_still
from ..runtime import Runtime
from ..settle import preflight
from ..turn import open_turn, seal, usage_rows
from ..turn.message_input import NewMessage
from ..turn.options import TurnOptions
from ..turn.seal import Dated, Sealed, Told
from . import compaction, create, foreign_ids, names
from .compaction import Compaction

assert Q.insert_native.names == (
    *("turn", "seq", "session", "origin", "item", "digest", "body", "codec", "file", "place"),
)
_DAY = 86_400_000  # a time further ahead does not drag the session's clock along
SCOPE = "session"  # of the foreign ids that sources give their sessions


class NewNative(NamedTuple):
    """An item to be kept."""

    key: Key
    body: bytes
    codec: str | None
    file: str | None
    place: int | None


class Summary(NamedTuple):
    """A compaction to be, and the turn that it keeps first."""

    said: Compaction
    keep_from: str | None


class NewTurn(NamedTuple):
    """A turn to be written: all of it was looked at before the lock. `times` are those that the source has for its
    messages, None where it has none."""

    id: str
    parent_id: str | None
    natives: list[NewNative]
    messages: list[NewMessage]
    times: list[int | None]
    options: TurnOptions
    facts: dict[str, Any]
    status: str
    told: list[Told]
    started_at: int | None
    sealed_at: int | None
    summary: Summary | None
    homeless: int = 0
    known: int = 0  # of its items, when it was planned: it could not be divided there


class Moved(NamedTuple):
    """The source's head went to a turn that is here."""

    turn_id: str | None
    at: int | None
    reason: str | None


class Stale(Exception):
    """Somebody else brought some of a batch in since it was looked at: look again."""


class Written(NamedTuple):
    turns: int
    beside: int


# ---------------------------------------------------------------- the session


def find(tx: Tx, origin: str, foreign_id: str) -> str | None:
    return foreign_ids.find(tx, origin=origin, scope=SCOPE, foreign=foreign_id)


def made(tx: Tx, origin: str, foreign_id: str, new: create.NewSession, at: int | None) -> str:
    """A session for one of the source's. The source's id is a name of it, too, unless it is somebody else's."""
    names.hold(tx, foreign_id)
    if find(tx, origin, foreign_id) is not None:
        raise Stale
    is_free = foreign_id != "@" and not rows.holders_of_name.all(tx, name=foreign_id)
    session_id = create.create(tx, new, foreign_id if is_free else None, at=at)
    return foreign_ids.put(tx, origin=origin, scope=SCOPE, foreign=foreign_id, ours=session_id)


# ---------------------------------------------------------------- one batch


def write(tx: Tx, runtime: Runtime, session_id: str, origin: str, steps: Sequence[NewTurn | Moved]) -> Written:
    """All of the steps, or nothing."""
    head = _lock(tx, runtime, session_id)
    _refuse_stale(tx, head, origin, steps)
    is_beside = stands_still(tx, head) or not natives.is_left_alone(tx, head)
    batch = _Batch(tx, head, origin, is_beside)
    path = set() if is_beside else _path(steps)
    for step in steps:
        if isinstance(step, NewTurn):
            batch.add(step, is_on_path=step.id in path)
        elif not is_beside:
            batch.move(step)
    batch.finish()
    return Written(batch.turns, batch.turns if is_beside else 0)


def _lock(tx: Tx, runtime: Runtime, session_id: str) -> Head:
    if not is_settled(tx, runtime, session_id):
        preflight.settle_open(tx, runtime, session_id)
    head = heads.lock_as_it_is(tx, session_id)
    heads.refuse_gone(head)
    preflight.refuse_closed(head)
    return head


def refuse_closed(tx: Tx, session_id: str) -> None:
    """Refuse a session that was archived or deleted here."""
    stamps = rows.session_stamps.one(tx, session=session_id)
    if stamps is not None and stamps.deleted_at is not None:
        raise SessionDeleted(session_id)
    if stamps is not None and stamps.archived_at is not None:
        raise SessionArchived(session_id)


def _refuse_stale(tx: Tx, head: Head, origin: str, steps: Sequence[NewTurn | Moved]) -> None:
    """What the batch brings must be new still, now that nobody else can bring it in."""
    ours = {step.id for step in steps if isinstance(step, NewTurn)}
    for step in steps:
        if isinstance(step, NewTurn) and step.parent_id not in ours:
            keys = [native.key for native in step.natives]
            if natives.match(tx, head.session_id, origin, step.parent_id, keys).items > step.known:
                raise Stale


def _path(steps: Sequence[NewTurn | Moved]) -> set[str]:
    """The new turns that are on the way to where the head will stand."""
    parents = {step.id: step.parent_id for step in steps if isinstance(step, NewTurn)}
    last = steps[-1]
    at, path = last.id if isinstance(last, NewTurn) else last.turn_id, set[str]()
    while at is not None and at in parents:
        path.add(at)
        at = parents[at]
    return path


class _Batch:
    """One transaction's worth of turns under a session's lock: what is counted on from turn to turn."""

    def __init__(self, tx: Tx, head: Head, origin: str, is_beside: bool) -> None:
        self._tx = tx
        self._old = head.turn_id
        self._head = head
        self._origin = origin
        self._is_beside = is_beside
        self._threads: dict[str, Thread] = {}
        self._standing = TurnOptions.standing(tx, head.session_id)  # under the lock: it is the same for all of them
        line = rows.newest_line.one(tx, session=head.session_id)
        self._line_at, self._link = (line.at, line.link) if line else (0, b"")
        self._is_straight = True  # each turn stood on the one before it
        self._last: Sealed | None = None
        self._preview: str | None = None
        self.turns = 0

    # ------------------------------------------------------------ steps

    def add(self, new: NewTurn, *, is_on_path: bool) -> None:
        dated = self._dated(new, None if is_on_path else now_ms())
        self._take(event_seq=self._head.event_seq + 1, last_at=max([self._head.last_at, *dated.messages]))
        turn = self._summarise(new, dated) if new.summary else self._commit(new, dated)
        self._threads[turn.id], self._last = turn.thread, turn
        if is_on_path and self._preview is None:
            self._preview = previews.of(new.messages)
        self.turns += 1
        for seq, native in enumerate(new.natives):
            values = (native.key.item, native.key.digest, native.body, native.codec, native.file, native.place)
            self._tx.defer_values(Q.insert_native, turn.id, seq, self._head.session_id, self._origin, *values)
        if self._is_beside:
            seal.note_stray(self._tx, self._head, turn.id, turn.begin_seq, turn.status)
        else:
            self._is_straight &= new.parent_id == self._head.turn_id
            self._log(turn.id, dated.sealed, None)

    def move(self, move: Moved) -> None:
        if move.turn_id != self._head.turn_id:
            self._is_straight = False
            self._take(event_seq=self._head.event_seq + 1)
            self._log(move.turn_id, self._line_at if move.at is None else move.at, move.reason)

    def finish(self) -> None:
        """The event of the graft, the head, and what of the older turns came into sight or left it."""
        if not self.turns and self._head.turn_id == self._old:
            return
        self._take(event_seq=self._head.event_seq + 1)
        told = {"origin": self._origin, "turns": self.turns, "beside": self._is_beside}
        open_turn.record_event(self._tx, self._head, "graft", None, told)
        head = self._head
        is_said = self.turns and not self._is_beside
        heads.put(self._tx, head, said=head.last_at if is_said else None, preview=self._preview)
        facts: TurnFacts = self._last.facts if self._last and not self._is_beside else {}
        seal.touch(self._tx, head.session_id, facts, head.last_at)
        if not self._is_beside and not self._is_straight:
            hidden_stamps.restamp(self._tx, head, self._old)
            preview = previews.recompute(self._tx, head.session_id)
            self._tx.defer(Q.set_preview, session=head.session_id, preview=preview)

    def _take(self, **changed: Any) -> None:
        self._head = self._head._replace(**changed)

    def _log(self, turn_id: str | None, at: int, reason: str | None) -> None:
        """The head goes on; its line is never older than the one before."""
        self._line_at = max(self._line_at, min(at, now_ms() + _DAY))
        head = self._head = self._head._replace(turn_id=turn_id, revision=self._head.revision + 1)
        self._link = heads.log(
            *(self._tx, head.session_id, head.event_seq, "graft", turn_id, head.revision, self._line_at),
            reason=reason,
            link=self._link,
        )

    # ------------------------------------------------------------ one turn

    def _dated(self, new: NewTurn, hidden_at: int | None) -> Dated:
        """The next free created_at for each message, at its own time or after it."""
        last, times = self._head.last_at, list[int]()
        usual = new.started_at if new.started_at is not None else new.sealed_at
        latest = now_ms() + _DAY
        for given in new.times:
            at = given if given is not None else usual
            last = max(last + 1, now_ms() if at is None or at > latest else at)
            times.append(last)
        started = new.started_at if new.started_at is not None else times[0] if times else self._head.last_at
        sealed = new.sealed_at if new.sealed_at is not None else max([started, *times])
        return Dated(times, started, max(started, sealed), hidden_at)

    def _commit(self, new: NewTurn, dated: Dated) -> Sealed:
        tx, options, standing = self._tx, new.options, self._standing
        options.keep_bodies(tx)
        options.say_in(new.messages, standing)
        return seal.commit(
            tx,
            self._head,
            new.messages,
            parent_id=new.parent_id,
            turn_id=new.id,
            status=new.status,
            thread=self._thread(new.parent_id),
            facts=self._facts(options.facts(standing), new, dated),
            told=self._told(new),
            dated=dated,
        )

    def _thread(self, parent_id: str | None) -> Thread:
        known = None if parent_id is None else self._threads.get(parent_id)
        return thread_of(self._tx, parent_id) if known is None else known

    def _facts(self, facts: TurnFacts, new: NewTurn, dated: Dated) -> TurnFacts:
        """Where a message could not have its own time, that is among the facts."""
        found: dict[str, Any] = {**new.facts, **facts}
        if any(given is not None and given != at for given, at in zip(new.times, dated.messages, strict=True)):
            found["original_at"] = new.times
        return found  # type: ignore[return-value]

    def _told(self, new: NewTurn) -> list[Told]:
        """What its responses used, without those that were counted before; it goes with the last answer."""
        tx, session_id, answer = self._tx, self._head.session_id, seal.last_answer(new.messages)
        told = list[Told]()
        for one in new.told:
            before = next((each for each in told if one.key is not None and each.key == one.key), None)
            if before is not None and (before.usage, before.cost) != (one.usage, one.cost):
                raise UsageKeyTaken(session_id, str(one.key))
            if before is None and not usage_rows.is_there(tx, session_id, one.key, one.usage, one.cost):
                told.append(one._replace(message_id=answer))
        if told and answer is not None:
            total = sum((one.usage for one in told), Usage())
            next(message for message in new.messages if message.id == answer).usage = total.json()
        return told

    def _summarise(self, new: NewTurn, dated: Dated) -> Sealed:
        assert new.summary is not None
        said, keep_from = new.summary
        place = self._head._replace(turn_id=new.parent_id)
        message, data = compaction.message(said, compaction.scope(self._tx, place, keep_from))
        turn = seal.commit(
            self._tx,
            self._head,
            [message],
            kind=summaries.KIND,
            parent_id=new.parent_id,
            turn_id=new.id,
            thread=self._thread(new.parent_id),
            facts=self._facts({}, new, dated),
            dated=dated,
        )
        self._tx.defer(Q.put_compaction, turn=turn.id, **summaries.columns(data))
        return turn
