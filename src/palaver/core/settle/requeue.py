"""A pending turn's ways back: a start that failed gives its message back, once; a cancelled one is sealed off all."""

from __future__ import annotations

from ...base import exact_json
from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from .. import metadata, rows
from ..facts import named_columns
from ..read import previews
from ..read.heads import Head
from ..turn import open_turn, seal


def give_back(tx: Tx, head: Head, turn_id: str, fence: int) -> bool:
    """A start that failed before anything came. True: the message waits again; it does so once."""
    queued, turn = rows.queued_turn.one(tx, turn=turn_id), rows.turn.one(tx, turn=turn_id)
    if queued is None or turn is None or queued.claims != 1:
        return False
    sent = exact_json.parse(turn.facts_json).get("as_sent", {})
    told = {"facts": exact_json.encode(sent), **named_columns(sent)}
    if tx.run(Q.give_back_turn, turn=turn_id, fence=fence, **told) != 1:
        return False
    for message_id, text in tx.all(Q.home_messages_of_turn, turn=turn_id, session=head.session_id):
        again = metadata.splice(metadata.unhide(text), "queued_at", str(queued.queued_at))
        tx.defer(Q.set_message_metadata, id=message_id, metadata=again, now=now_ms())
    tx.defer(Q.set_preview, session=head.session_id, preview=previews.recompute(tx, head.session_id))
    open_turn.record_event(tx, head, "requeue", None, {"turn": turn_id, "id": queued.id})
    return True


def entomb(tx: Tx, head: Head, turn_id: str) -> None:
    """Seal a pending turn off every path: its tombstone."""
    turn = open_turn.load(tx, turn_id)
    turn.facts["cancelled_at"] = now_ms()
    seal.freeze(tx, turn, "aborted")
    for message_id, text in tx.all(Q.home_messages_of_turn, turn=turn_id, session=head.session_id):
        hidden = metadata.hide(metadata.unqueue(text), now_ms())
        tx.defer(Q.set_message_metadata, id=message_id, metadata=hidden, now=now_ms())
