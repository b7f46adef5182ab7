"""Whether something that a dead writer or another program left waits for its place on the path. Nothing is written."""

from __future__ import annotations

from ...db.engine import Tx
from .. import rows
from ..rows import AnyOpenTurnRow, OpenTurnRow
from ..runtime import IsDead, Runtime
from . import heads, loose_rows
from .heads import Head


def is_settled(tx: Tx, runtime: Runtime, session_id: str) -> bool:
    """A deleted or archived session stays as it is; so does one in which a live or waiting turn stands."""
    stamps = rows.session_stamps.one(tx, session=session_id)
    if stamps is None or stamps.archived_at is not None or stamps.deleted_at is not None:
        return True
    head = heads.read(tx, session_id)
    if not head.has_turn:
        return False
    if head.open_turns and has_dead(tx, session_id, runtime.is_dead):
        return False
    return not loose_rows.glance(tx, head, runtime.glances) or stands_still(tx, head)


def stands_still(tx: Tx, head: Head) -> bool:
    """A live or waiting turn stands on the current revision: nothing may move the head under it."""
    open_turns = rows.open_turns.all(tx, session=head.session_id)
    return any(turn.base_revision == head.revision and turn.status != "pending" for turn in open_turns)


def has_dead(tx: Tx, session_id: str, is_dead: IsDead) -> bool:
    return any(is_left(tx, turn, is_dead) for turn in rows.open_turns.all(tx, session=session_id))


def is_left(tx: Tx, turn: OpenTurnRow | AnyOpenTurnRow, is_dead: IsDead) -> bool:
    """Whether nobody is writing a turn that streams."""
    return turn.status == "streaming" and (turn.owner is None or is_dead(tx, turn.owner))
