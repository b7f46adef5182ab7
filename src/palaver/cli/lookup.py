"""Two reads that the library does not offer by name: a turn's own messages, and which turns are being written."""

from __future__ import annotations

from palaver import Session, Store, StoredMessage
from palaver.core import transcript
from palaver.db.queries import Q


def messages_of_turn(store: Store, turn_id: str) -> list[StoredMessage]:
    with store.db.read() as tx:
        return transcript._assemble(tx.all(Q.turn_rows, turn=turn_id))


def live_turns(store: Store, session: Session) -> set[str]:
    with store.db.read() as tx:
        return {row[0] for row in tx.all(Q.open_turns, session=session.id) if row[2] == "streaming"}
