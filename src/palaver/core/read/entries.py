"""The entries of a turn, in the order of record, and the turns on the way to the root."""

from __future__ import annotations

from ...db.engine import Tx
from ...db.queries import Q


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


def path(tx: Tx, turn_id: str | None) -> list[str]:
    """The turns from a turn to its root, nearest first."""
    return [turn for (turn,) in tx.all(Q.path, turn=turn_id)] if turn_id else []
