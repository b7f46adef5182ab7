"""What a session reads as, one turn at a time: the head's path, then the live tail."""

from __future__ import annotations

from collections.abc import Iterator

from ..core import rows
from ..core.read import transcript
from ..core.read.transcript import Message
from ..db.engine import Tx
from ..db.queries import Q
from ..errors import SessionNotFound


def messages(tx: Tx, session_id: str) -> Iterator[Message]:
    """Messages as stored. Memory holds one turn of the path; the tail is read at once."""
    if tx.one(Q.session_exists, session=session_id) is None:
        raise SessionNotFound(session_id)
    head = rows.head.one(tx, session=session_id)
    if head is not None and head.deleted_at is not None:
        return
    if head is not None and head.turn_id is not None:
        for (turn_id,) in reversed(tx.all(Q.path, turn=head.turn_id)):
            yield from _of_turn(tx, turn_id)
    yield from transcript.read_tail(tx, session_id)


def _of_turn(tx: Tx, turn_id: str) -> list[Message]:
    found: dict[str, Message] = {}
    for _, kind, ref, client_id, role, meta, created_at, message_id, data in tx.all(Q.turn_rows, turn=turn_id):
        if kind == "message" and role is not None:
            found[ref] = Message(ref, client_id, role, meta, created_at, turn_id)
        elif data is not None and message_id in found:
            found[message_id].add(ref, data)
    return list(found.values())
