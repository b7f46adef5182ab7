"""Preflight: what every verb that may move a head does first, under the session's lock.

Dead turns are recovered and loose rows adopted; then `expected` is compared, so that the caller gets HeadConflict
also when the other writer died or is another program. That work stays done then: the transaction is committed, and the
conflict raised afterwards. Waiting turns are closed if the user moves on. Any other refusal takes all of this back.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...db.engine import Tx
from ...errors import HeadConflict, SessionArchived, SessionDeleted
from .. import heads
from ..foreign import adopt
from ..head_cache import FastPathMissed
from ..read import previews
from ..read.heads import Head
from ..read.previews import Spoken
from ..read.unsettled import stands_still
from ..runtime import Runtime
from . import recovery


def ready(
    tx: Tx,
    runtime: Runtime,
    session_id: str,
    *,
    expected: int | None = None,
    timestamps: int = 1,
    preview: str | None = None,
    moving_on: bool = False,
    writing: bool = True,
) -> Head:
    """The head, locked, with everything before it settled."""
    if expected is not None:
        refuse_moved(tx, runtime, session_id, expected, writing=writing)
        return _after_what_was_read(tx, runtime, session_id, timestamps, preview, moving_on=moving_on)
    head = heads.lock(tx, session_id, timestamps=timestamps, preview=preview)
    _refuse(head, writing=writing)
    settled = settle(tx, runtime, head, moving_on=moving_on)
    if settled.event_seq == head.event_seq and settled.revision == head.revision:
        return head
    return heads.lock(tx, session_id, timestamps=timestamps, preview=preview)


def ready_to_say(tx: Tx, runtime: Runtime, session_id: str, messages: Sequence[Spoken], expected: int | None) -> Head:
    """The head, locked, for a turn that begins with these messages: the user moves on."""
    return ready(
        tx,
        runtime,
        session_id,
        expected=expected,
        timestamps=len(messages),
        preview=previews.of(messages),
        moving_on=True,
    )


def refuse_moved(tx: Tx, runtime: Runtime, session_id: str, expected: int, *, writing: bool = True) -> None:
    """Recover and adopt, then compare. If the revision differs, what was recovered and adopted stays done."""
    locked = heads.lock(tx, session_id, timestamps=0, events=0)
    _refuse(locked, writing=writing)
    head = _settle(tx, runtime, locked, closely=True)
    if head.revision != expected:
        raise HeadConflict(session_id, expected, head.revision, settled=head is not locked)


def _after_what_was_read(
    tx: Tx,
    runtime: Runtime,
    session_id: str,
    timestamps: int,
    preview: str | None,
    *,
    moving_on: bool,
) -> Head:
    """The caller's messages come right after the revision it named; loose rows that came since get a later time."""
    before = heads.lock(tx, session_id, timestamps=0, events=0)
    if moving_on and before.open_turns:
        closed = recovery.close_waiting(tx, before, runtime.is_dead, alone=True)
        recovery.recover(tx, closed, runtime.is_dead)
    head = heads.lock(tx, session_id, timestamps=timestamps, preview=preview)
    # On Postgres another program may have committed a row since the scan, with an earlier time than the caller's now.
    beside = adopt.scan(tx, head, runtime.scans, closely=True, remember=False)
    if beside and (timestamps or head.revision != before.revision):
        adopt.put_behind(tx, head, beside)
    return head


def _refuse(head: Head, *, writing: bool) -> None:
    heads.refuse_gone(head)
    if writing:
        refuse_closed(head)


def refuse_loose(tx: Tx, runtime: Runtime, head: Head, expected: int | None) -> None:
    """A fast path ends where rows of another program may lie. A caller who names a revision is told of each, however
    late it came."""
    closely = expected is not None
    if runtime.scans.is_fresh(head.session_id, tx.generation(closely=closely)):
        return
    if adopt.scan(tx, head, runtime.scans, closely=closely):
        raise FastPathMissed


def refuse_closed(head: Head) -> None:
    if head.deleted_at is not None:
        raise SessionDeleted(head.session_id)
    if head.archived_at is not None:
        raise SessionArchived(head.session_id)


def settle(tx: Tx, runtime: Runtime, head: Head, *, moving_on: bool = False, everywhere: bool = False) -> Head:
    return _settle(tx, runtime, head, moving_on=moving_on, everywhere=everywhere)


def settle_open(tx: Tx, runtime: Runtime, session_id: str, *, everywhere: bool = False) -> bool:
    """Settle a session, unless it is archived or deleted; whether its head moved."""
    head = heads.lock(tx, session_id, timestamps=0, events=0)
    if head.deleted_at is not None or head.archived_at is not None:
        return False
    return _settle(tx, runtime, head, everywhere=everywhere, closely=True).revision != head.revision


def settle_dead(tx: Tx, runtime: Runtime, session_id: str) -> None:
    """Seal what dead writers left open in a session, and adopt what lies there."""
    settle(tx, runtime, heads.lock(tx, session_id, timestamps=0))


def adopt_all(tx: Tx, runtime: Runtime, session_id: str) -> bool:
    """Make turns of everything another program wrote into a session; False if there was nothing."""
    refuse_closed(heads.lock(tx, session_id, timestamps=0))
    return settle_open(tx, runtime, session_id, everywhere=True)


def _settle(
    tx: Tx, runtime: Runtime, head: Head, *, moving_on: bool = False, everywhere: bool = False, closely: bool = False
) -> Head:
    """The head with everything before it settled. A live or waiting turn keeps loose rows from being adopted."""
    before = head
    if not head.has_turn:
        head = heads.mend(tx, head)
    if head.open_turns:
        head = recovery.recover(tx, head, runtime.is_dead)
        if moving_on:
            head = recovery.close_waiting(tx, head, runtime.is_dead)
            head = recovery.recover(tx, head, runtime.is_dead)
    # What a recovery took in is loose again if the verb is refused: then nobody has scanned.
    found = adopt.scan(tx, head, runtime.scans, everywhere=everywhere, closely=closely, remember=head is before)
    if not found or stands_still(tx, head):
        return head
    return adopt.adopt(tx, heads.lock(tx, head.session_id, timestamps=0), found)
