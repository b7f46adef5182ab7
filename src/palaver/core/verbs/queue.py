"""The queue: messages sent while a turn runs, each the one message of a pending turn without a parent.

A pending turn is in no transcript and no context. Claiming it is beginning it: under the session's lock it gets its
parent and its place in time, once. Cancelling seals it off the path, so that it can never do both. A start that failed
before anything came gives the message back, once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base import exact_json, ids
from ...base.clock import now_ms
from ...base.exact_json import check_name
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import (
    BadValue,
    MessageCancelled,
    MessageFired,
    MessageNotFound,
    QueueConflict,
    SessionArchived,
    SessionDeleted,
    SessionNotFound,
)
from ...keywords import ClaimKeywords, EnqueueKeywords
from ...model import SEALED, Queued
from .. import facts as turn_facts
from .. import heads, metadata, rows
from ..facts import TurnFacts
from ..read import jumps, previews, sessions, transcript
from ..read.heads import Head, thread_of
from ..read.unsettled import has_dead
from ..rows import PendingRow, QueuedRow
from ..runtime import Runtime
from ..settle import preflight, recovery, requeue
from ..turn import open_turn, triggers
from ..turn.message_input import NewMessage, prepare
from ..turn.open_turn import OpenTurn
from ..turn.options import TurnOptions


class Place(NamedTuple):
    """A queued message: where it is and when it came."""

    id: str
    turn_id: str
    queued_at: int


def sent(message: Any, key: str | None, given: EnqueueKeywords) -> tuple[NewMessage, TurnOptions]:
    """What a caller gave to be queued, looked at."""
    options = TurnOptions(**given)
    options.refuse_snapshots()
    prepared = prepare(message, options.for_message)
    if len(prepared) != 1 or prepared[0].role != "user":
        raise BadValue("a queued message is one message of the user")
    [one] = prepared
    if key is not None:
        one.client_id = check_name("message id", key) or None
    return one, options


def claiming(given: ClaimKeywords) -> TurnOptions:
    """What a caller gave for a message that begins."""
    options = TurnOptions(**given)
    if options.trigger is not None:
        raise BadValue("a trigger belongs to the message: give it to enqueue()")
    return options


def enqueue(tx: Tx, _: Runtime, session_id: str, message: NewMessage, options: TurnOptions) -> Queued:
    """Send a message that waits its turn. The same id and content again is the same message."""
    options.keep_bodies(tx)
    standing = options.standing(tx, session_id)._replace(model=None)  # which model answers is known when it fires
    options.say_in([message], standing)
    place = _enqueue(tx, session_id, message, options.facts(standing))
    (shown,) = [each for each in _shown(tx, place.turn_id) if each["id"] == place.id]
    return Queued(place.id, place.turn_id, place.queued_at, shown)


def waiting(tx: Tx, session_id: str) -> list[Queued]:
    """What waits, first come first."""
    sessions.require(tx, session_id)
    return [
        Queued(queued.id, queued.turn_id, queued.queued_at, shown)
        for queued in rows.pending.all(tx, session=session_id)
        for shown in _shown(tx, queued.turn_id)
    ]


def _shown(tx: Tx, turn_id: str) -> list[dict[str, Any]]:
    return [message.ui() for message in transcript.read_turn(tx, turn_id)]


def _known(tx: Tx, session_id: str, key: str, content: bytes) -> Place | None:
    known = rows.queued.one(tx, session=session_id, id=key)
    if known is None:
        return None
    if known.payload != content:
        raise QueueConflict(session_id, key)
    return Place(key, known.turn_id, known.queued_at)


def _enqueue(tx: Tx, session_id: str, message: NewMessage, facts: TurnFacts) -> Place:
    exact_json.check({"as_sent": facts})  # as they are kept while the turn runs: what could not be claimed is not taken
    key, content = message.client_id or message.id, triggers.payload([message])
    known = _known(tx, session_id, key, content)
    if known is not None:
        return known
    head = heads.lock(tx, session_id, timestamps=1)
    known = _known(tx, session_id, key, content)  # another process may have sent the same while this one waited
    if known is not None:
        return known
    heads.refuse_gone(head)
    preflight.refuse_closed(head)
    turn_id = ids.mint(ids.TURN)
    triggers.deliver(tx, session_id, turn_id, facts.get("trigger"), content)
    tx.defer(
        Q.insert_pending_turn,
        id=turn_id,
        session=session_id,
        begin_seq=head.event_seq,
        now=head.last_at,
        facts=exact_json.encode(facts),
        **turn_facts.named_columns(facts),
    )
    open_turn.write_messages(tx, turn_id, session_id, [message], times=head.times(1))
    text = metadata.splice(message.metadata, "queued_at", str(head.last_at))
    tx.defer(Q.set_message_metadata, id=message.id, metadata=text, now=head.last_at)
    tx.defer(Q.insert_queued, session=session_id, id=key, turn=turn_id, payload=content, at=head.last_at)
    open_turn.record_event(tx, head, "enqueue", head.event_seq, {"turn": turn_id, "id": key})
    return Place(key, turn_id, head.last_at)


def claim(
    tx: Tx,
    runtime: Runtime,
    session_id: str,
    key: str | None,
    options: TurnOptions,
    expected: int | None,
    owner: str,
) -> OpenTurn | None:
    """Begin the first message in line, or the one that is named. None: nothing waits, and nothing is written."""
    _refuse_closed(tx, session_id)
    is_left = has_dead(tx, session_id, runtime.is_dead)
    if not is_left and _wanted(tx, session_id, key) is None and expected is None:
        return None
    _recover(tx, runtime, session_id, is_left=is_left)
    if expected is not None:
        preflight.refuse_moved(tx, runtime, session_id, expected)
    first = _wanted(tx, session_id, key)  # under the lock: nobody else claims or cancels it any more
    if first is None:
        return None
    _, facts = options.of_session(tx, session_id)
    head = preflight.ready(tx, runtime, session_id, expected=expected, timestamps=1, moving_on=True)
    turn = _begin(tx, head, first.turn_id, owner, facts)
    options.keep_bodies(tx)
    return turn


def _refuse_closed(tx: Tx, session_id: str) -> None:
    stamps = rows.session_stamps.one(tx, session=session_id)
    if stamps is None:
        raise SessionNotFound(session_id)
    if stamps.deleted_at is not None:
        raise SessionDeleted(session_id)
    if stamps.archived_at is not None:
        raise SessionArchived(session_id)


def _recover(tx: Tx, runtime: Runtime, session_id: str, *, is_left: bool) -> None:
    """Lock the session; then recover, so that a message that a dead process had claimed is pending again."""
    head = heads.lock(tx, session_id, timestamps=0, events=int(is_left))
    if is_left:
        recovery.recover(tx, head, runtime.is_dead)


def _wanted(tx: Tx, session_id: str, key: str | None) -> PendingRow | QueuedRow | None:
    return rows.pending.one(tx, session=session_id) if key is None else _named(tx, session_id, key)


def _named(tx: Tx, session_id: str, key: str) -> QueuedRow:
    queued = rows.queued.one(tx, session=session_id, id=key)
    if queued is None:
        raise MessageNotFound(key, "queue() lists what waits")
    if queued.status != "pending":
        raise _gone(queued)
    return queued


def _gone(queued: QueuedRow) -> MessageCancelled | MessageFired:
    if queued.status in SEALED and "cancelled_at" in exact_json.parse(queued.facts_json):
        return MessageCancelled(queued.id)
    return MessageFired(queued.id, queued.turn_id)


def _begin(tx: Tx, head: Head, turn_id: str, owner: str, given: TurnFacts) -> OpenTurn:
    thread, pending = thread_of(tx, head.turn_id), rows.turn.one(tx, turn=turn_id)
    assert pending is not None
    sent = turn_facts.read(pending.facts_json, turn_id)
    told = sent.get("metadata", {}) | given.get("metadata", {})
    facts: TurnFacts = sent | given
    if told:
        facts["metadata"] = told
    facts["as_sent"] = sent
    claimed = tx.run(
        Q.claim_turn,
        turn=turn_id,
        parent=head.turn_id,
        revision=head.revision,
        begin_seq=head.event_seq,
        owner=owner,
        now=head.last_at,
        depth=thread.depth + 1,
        thread_tokens=thread.tokens,
        thread_messages=thread.messages,
        thread_results=thread.results,
        thread_calls=thread.calls,
        jump=jumps.id_of(jumps.of_child(tx, head.turn_id, thread.depth, thread.jump)),
        facts=exact_json.encode(facts),
        **turn_facts.named_columns(facts),
    )
    if claimed != 1:
        raise MessageFired(turn_id, turn_id)
    tx.defer(Q.count_claim, turn=turn_id)
    for message_id, text in tx.all(Q.home_messages_of_turn, turn=turn_id, session=head.session_id):
        said = metadata.unqueue(text)
        now = max(now_ms(), head.last_at)  # in a burst the session's clock is ahead of this machine's
        tx.defer(Q.restamp_message, id=message_id, metadata=said, at=head.last_at, now=now)
    tx.defer(Q.set_preview, session=head.session_id, preview=previews.recompute(tx, head.session_id))
    turn = open_turn.load(tx, turn_id)
    open_turn.record_event(tx, head, "begin", turn.begin_seq, {"turn": turn_id, "parent": head.turn_id})
    return turn


def cancel(tx: Tx, runtime: Runtime, session_id: str, key: str) -> bool:
    """Take a message back. False: it was cancelled before. What was fired cannot be."""
    _refuse_closed(tx, session_id)
    is_left = has_dead(tx, session_id, runtime.is_dead)
    if not is_left and not _can_be_cancelled(tx, session_id, key):
        return False
    _recover(tx, runtime, session_id, is_left=is_left)
    if not _can_be_cancelled(tx, session_id, key):  # under the lock: nobody claims it any more
        return False
    queued = _named(tx, session_id, key)
    head = heads.lock(tx, session_id, timestamps=0)
    requeue.entomb(tx, head, queued.turn_id)
    open_turn.record_event(tx, head, "cancel", None, {"turn": queued.turn_id, "id": key})
    return True


def _can_be_cancelled(tx: Tx, session_id: str, key: str) -> bool:
    """False: it was cancelled before."""
    try:
        return _named(tx, session_id, key) is not None
    except MessageCancelled:
        return False
