"""The queue: messages sent while a turn runs, each the one message of a pending turn without a parent.

A pending turn is in no transcript and no context. Claiming it is beginning it: under the session's lock it gets its
parent and its place in time, once. Cancelling seals it off the path, so that it can never do both. A start that failed
before anything came gives the message back, once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base import exact_json, ids
from ...base.clock import now_ms
from ...db.engine import Row, Tx
from ...db.queries import Q
from ...errors import (
    MessageCancelled,
    MessageFired,
    MessageNotFound,
    QueueConflict,
    SessionArchived,
    SessionDeleted,
    SessionNotFound,
)
from ...model import SEALED
from .. import heads, metadata
from ..heads import Head
from ..read import previews, transcript
from ..settle import preflight, recovery, requeue
from ..settle.preflight import Runtime
from ..turn import open_turn, triggers
from ..turn.message_input import NewMessage
from ..turn.open_turn import OpenTurn

_SENT = requeue.SENT


class Place(NamedTuple):
    """A queued message: where it is and when it came."""

    id: str
    turn_id: str
    queued_at: int


def enqueue(tx: Tx, session_id: str, message: NewMessage, facts: dict[str, Any]) -> Place:
    exact_json.check({_SENT: facts})  # as they are kept while the turn runs: what could not be claimed is not taken
    key, content = message.client_id or message.id, triggers.payload([message])
    known = tx.one(Q.find_queued, session=session_id, id=key)
    if known is not None:
        if known[2] != content:
            raise QueueConflict(session_id, key)
        return Place(key, known[1], known[3])
    head = heads.lock(tx, session_id, timestamps=1)
    heads.refuse_gone(head)
    preflight.refuse_closed(head)
    turn = OpenTurn(ids.mint(ids.TURN), session_id, None, heads.Thread(), -1, head.event_seq, facts=facts)
    triggers.deliver(tx, session_id, turn.id, facts.get("trigger"), content)
    tx.defer(
        Q.insert_pending_turn,
        id=turn.id,
        session=session_id,
        begin_seq=head.event_seq,
        now=head.last_at,
        facts=exact_json.encode(facts),
    )
    open_turn.write_messages(tx, turn, [message], last_at=head.last_at)
    text = metadata.splice(message.metadata, "queued_at", str(head.last_at))
    tx.defer(Q.set_message_metadata, id=message.id, metadata=text, now=head.last_at)
    tx.defer(Q.insert_queued, session=session_id, id=key, turn=turn.id, payload=content, at=head.last_at)
    open_turn.record_event(tx, head, "enqueue", turn, {"turn": turn.id, "id": key})
    return Place(key, turn.id, head.last_at)


def waiting(tx: Tx, session_id: str) -> list[tuple[Place, transcript.Message]]:
    """What waits, first come first."""
    found = []
    for key, turn_id, queued_at, _ in tx.all(Q.pending, session=session_id):
        for message in transcript.read_turn(tx, turn_id):
            found.append((Place(key, turn_id, queued_at), message))
    return found


def claim(
    tx: Tx,
    runtime: Runtime,
    session_id: str,
    key: str | None,
    *,
    owner: str,
    expected: int | None,
    facts: dict[str, Any],
) -> OpenTurn | None:
    """Begin the first message in line, or the one that is named. None: nothing waits."""
    _look_around(tx, runtime, session_id)
    if expected is not None:
        preflight.refuse_moved(tx, runtime, session_id, expected)
    row = _first(tx, session_id) if key is None else _named(tx, session_id, key)
    if row is None:
        return None
    head = preflight.ready(tx, runtime, session_id, expected=expected, timestamps=1, moving_on=True)
    return _begin(tx, head, row[1], owner, facts)


def _look_around(tx: Tx, runtime: Runtime, session_id: str) -> None:
    """What a dead process had begun waits again before anybody looks what waits. Changes nothing else."""
    row = tx.one(Q.session_stamps, session=session_id)
    if row is None:
        raise SessionNotFound(session_id)
    if row[2] is not None:
        raise SessionDeleted(session_id)
    if row[1] is not None:
        raise SessionArchived(session_id)
    if recovery.has_dead(tx, session_id, runtime.is_dead):
        recovery.recover(tx, heads.lock(tx, session_id, timestamps=0), runtime.is_dead)


def _first(tx: Tx, session_id: str) -> Row | None:
    return tx.one(Q.pending, session=session_id)


def _named(tx: Tx, session_id: str, key: str) -> Row:
    row = tx.one(Q.find_queued, session=session_id, id=key)
    if row is None:
        raise MessageNotFound(key, "queue() lists what waits")
    if row[5] != "pending":
        raise _gone(row)
    return row


def _gone(row: Row) -> MessageCancelled | MessageFired:
    if row[5] in SEALED and requeue.CANCELLED in exact_json.parse(row[7]):
        return MessageCancelled(row[0])
    return MessageFired(row[0], row[1])


def _begin(tx: Tx, head: Head, turn_id: str, owner: str, facts: dict[str, Any]) -> OpenTurn:
    thread = heads.thread_of(tx, head.turn_id)
    stored = exact_json.parse((tx.one(Q.get_turn, turn=turn_id) or ())[23])
    told = stored.get("metadata", {}) | facts.get("metadata", {})
    facts = stored | facts | ({"metadata": told} if told else {}) | {_SENT: stored}
    tx.run(
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
        facts=exact_json.encode(facts),
    )
    tx.defer(Q.count_claim, turn=turn_id)
    for message_id, text in tx.all(Q.home_messages_of_turn, turn=turn_id, session=head.session_id):
        said = metadata.unqueue(text)
        tx.defer(Q.restamp_message, id=message_id, metadata=said, at=head.last_at, now=now_ms())
    tx.defer(Q.set_preview, session=head.session_id, preview=previews.recompute(tx, head.session_id))
    turn = open_turn.load(tx, turn_id)
    open_turn.record_event(tx, head, "begin", turn, {"turn": turn_id, "parent": head.turn_id})
    return turn


def cancel(tx: Tx, runtime: Runtime, session_id: str, key: str) -> bool:
    """Take a message back. False: it was cancelled before. What was fired cannot be."""
    _look_around(tx, runtime, session_id)
    row = tx.one(Q.find_queued, session=session_id, id=key)
    if row is None:
        raise MessageNotFound(key, "queue() lists what waits")
    if row[5] != "pending":
        gone = _gone(row)
        if isinstance(gone, MessageFired):
            raise gone
        return False
    head = heads.lock(tx, session_id, timestamps=0)
    requeue.entomb(tx, head, row[1])
    open_turn.record_event(tx, head, "cancel", None, {"turn": row[1], "id": key})
    return True
