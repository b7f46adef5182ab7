"""The entries of a turn, in the order of record, and the turns on the way to the root."""

from __future__ import annotations

from ...db.engine import Tx
from ...db.queries import Q
from .. import rows


class Entry:
    """One line of a turn: the order of record."""

    __slots__ = ("client_id", "kind", "leaf", "ref", "salt", "seq")

    def __init__(
        self, seq: int, kind: str, ref: str, client_id: str | None, salt: bytes | None, leaf: bytes | None
    ) -> None:
        self.seq = seq
        self.kind = kind
        self.ref = ref
        self.client_id = client_id
        self.salt = salt
        self.leaf = leaf


def of_turn(tx: Tx, turn_id: str) -> list[Entry]:
    return [Entry(*row) for row in tx.all(Q.entries_of, turn=turn_id)]


def start_of_message(entries: list[Entry], message_id: str) -> int:
    return next(i for i, e in enumerate(entries) if e.kind == "message" and e.ref == message_id)


def end_of_message(entries: list[Entry], message_id: str) -> int:
    """One past the last entry that belongs to the message or comes before it."""
    after = range(start_of_message(entries, message_id) + 1, len(entries))
    return next((i for i in after if entries[i].kind == "message"), len(entries))


def listing(tx: Tx, message_id: str, turn_id: str | None) -> str | None:
    """The turn on the way to a turn, itself included, that lists a message."""
    row = rows.listing_on_path.one(tx, message=message_id, turn=turn_id) if turn_id else None
    return None if row is None else row.turn_id


def path(tx: Tx, turn_id: str | None) -> list[str]:
    """The turns from a turn to its root, nearest first."""
    return [turn for (turn,) in tx.all(Q.path, turn=turn_id)] if turn_id else []
