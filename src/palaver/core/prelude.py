"""What every verb that may move a head does first, under the session's lock.

`expected` is compared before anything else; then dead turns are recovered, waiting turns closed if the user moves
on, and loose rows adopted. If the verb is refused later, the transaction takes all of that back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..db.database import Tx
from ..db.queries import Q
from ..errors import HeadConflict, SessionArchived, SessionDeleted
from ..later import later
from . import heads, loose
from .heads import Head
from .loose import Looks
from .tips import Tips

if TYPE_CHECKING:
    from . import recovery
    from .recovery import IsDead
else:
    later(globals(), ".core.recovery")


class InTheWay(Exception):
    """Something needs a closer look; nothing of this transaction may stay."""


class Room:
    """What core verbs need to know about the process they run in."""

    def __init__(self, is_dead: IsDead) -> None:
        self.is_dead = is_dead
        self.looks = Looks()
        self.tips = Tips()


def ready(
    tx: Tx,
    room: Room,
    session_id: str,
    *,
    expected: int | None = None,
    stamps: int = 1,
    preview: str | None = None,
    moving_on: bool = False,
    writing: bool = True,
) -> Head:
    """The head, taken, with everything before it settled."""
    head = heads.take(tx, session_id, stamps=stamps, preview=preview)
    heads.refuse_gone(head)
    if writing:
        refuse_closed(head)
    if expected is not None and head.revision != expected:
        raise HeadConflict(session_id, expected, head.revision)
    settled = settle(tx, room, head, moving_on=moving_on)
    if settled.event_seq == head.event_seq and settled.revision == head.revision:
        return head
    return heads.take(tx, session_id, stamps=stamps, preview=preview)


def refuse_loose(tx: Tx, room: Room, head: Head) -> None:
    """Rows of another program are a closer look worth."""
    if loose.look(tx, head, room.looks):
        raise InTheWay


def refuse_closed(head: Head) -> None:
    if head.deleted_at is not None:
        raise SessionDeleted(head.session_id)
    if head.archived_at is not None:
        raise SessionArchived(head.session_id)


def settle(tx: Tx, room: Room, head: Head, *, moving_on: bool = False, everywhere: bool = False) -> Head:
    before = head
    if head.open_turns:
        head = recovery.recover(tx, head, room.is_dead)
        if moving_on:
            head = recovery.close_waiting(tx, head, room.is_dead)
            head = recovery.recover(tx, head, room.is_dead)
    # What a recovery took in is loose again if the verb is refused: then nobody has looked.
    found = loose.look(tx, head, room.looks, everywhere=everywhere, remember=head is before)
    if found and not stands_still(tx, head):
        head = heads.take(tx, head.session_id, stamps=0)
        head = loose.adopt(tx, head, found)
    return head


def stands_still(tx: Tx, head: Head) -> bool:
    """A live or waiting turn stands on the current revision: nothing may move the head under it."""
    return any(
        base == head.revision and status != "pending"
        for _, base, status, *_ in tx.all(Q.open_turns, session=head.session_id)
    )
