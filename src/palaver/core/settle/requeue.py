"""A pending turn's ways back: a start that failed gives its message back, once; a cancelled one is sealed off all."""

from __future__ import annotations

from ...base import exact_json
from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from .. import metadata
from ..heads import Head
from ..read import previews
from ..turn import open_turn, seal

CANCELLED = "cancelled_at"  # a fact of the turn: its tombstone
SENT = "as_sent"  # the facts that came with the message, whatever its start adds


def give_back(tx: Tx, head: Head, turn_id: str, fence: int) -> bool:
    """A start that failed before anything came. True: the message waits again; it does so once."""
    row, turn = tx.one(Q.queued_turn, turn=turn_id), tx.one(Q.get_turn, turn=turn_id)
    if row is None or turn is None or row[2] != 1:
        return False
    sent = exact_json.encode(exact_json.parse(turn[23]).get(SENT, {}))
    if tx.run(Q.give_back_turn, turn=turn_id, fence=fence, facts=sent) != 1:
        return False
    for message_id, text in tx.all(Q.home_messages_of_turn, turn=turn_id, session=head.session_id):
        again = metadata.splice(metadata.unhide(text), "queued_at", str(row[1]))
        tx.defer(Q.set_message_metadata, id=message_id, metadata=again, now=now_ms())
    tx.defer(Q.set_preview, session=head.session_id, preview=previews.recompute(tx, head.session_id))
    open_turn.record_event(tx, head, "requeue", None, {"turn": turn_id, "id": row[0]})
    return True


def entomb(tx: Tx, head: Head, turn_id: str) -> None:
    """Seal a pending turn off every path: its tombstone."""
    turn = open_turn.load(tx, turn_id)
    turn.facts[CANCELLED] = now_ms()
    seal.freeze(tx, turn, "aborted")
    for message_id, text in tx.all(Q.home_messages_of_turn, turn=turn_id, session=head.session_id):
        hidden = metadata.hide(metadata.unqueue(text), now_ms())
        tx.defer(Q.set_message_metadata, id=message_id, metadata=hidden, now=now_ms())
