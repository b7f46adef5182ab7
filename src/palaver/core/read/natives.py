"""Items of other programs: which turn says what they say. They are known by their ids and digests, and by what they
come after; never by what we made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...db.engine import Tx
from .. import rows
from .heads import Head


class Key(NamedTuple):
    """What an item is known by: its id in the source, or its place there, and the SHA-256 of its bytes."""

    item: str
    digest: bytes


class Known(NamedTuple):
    """How far a turn of the source is here: the last turn of ours that says some of it, and how many of its items."""

    turn_id: str | None
    items: int


def match(tx: Tx, session_id: str, origin: str, parent: str | None, items: Sequence[Key]) -> Known:
    """Follow the turns below `parent` whose items are these, one after the other."""
    turn_id, count = parent, 0
    while count < len(items):
        found = _child(tx, session_id, origin, turn_id, items[count:])
        if found is None:
            break
        turn_id, more = found
        count += more
    return Known(turn_id, count)


def _child(tx: Tx, session_id: str, origin: str, parent: str | None, items: Sequence[Key]) -> tuple[str, int] | None:
    first, *_ = items
    about = {"session": session_id, "origin": origin, "item": first.item, "parent": parent or ""}
    for turn in rows.natives_beginning.all(tx, **about):
        if turn.digest == first.digest:
            listed = [Key(*native) for native in rows.native_items.all(tx, turn=turn.turn_id)]
            if listed == list(items[: len(listed)]):
                return turn.turn_id, len(listed)
    return None


def ending(tx: Tx, session_id: str, origin: str, item: str) -> str | None:
    """The turn that ends with an item; of several, the one that came last."""
    found = rows.natives_ending.all(tx, session=session_id, origin=origin, item=item)
    return next((row.turn_id for row in found), None)


def of_turn(tx: Tx, turn_id: str) -> list[rows.NativeRow]:
    return rows.natives_of_turn.all(tx, turn=turn_id)


def is_left_alone(tx: Tx, head: Head) -> bool:
    """Whether a head stands where the last graft left it; a new session's does."""
    left = rows.newest_graft.one(tx, session=head.session_id)
    return head.revision == 0 if left is None else left.turn_id == head.turn_id
