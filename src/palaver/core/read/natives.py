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
    """Follow the turns below `parent` whose items are these, one after the other, as far as any of them leads."""
    known = Known(parent, 0)
    while known.items < len(items):
        left = items[known.items :]
        found = _children(tx, session_id, origin, known.turn_id, left)
        if len(found) > 1:  # a turn that was brought in before it was over, and then again
            ways = [_on(match(tx, session_id, origin, one.turn_id, left[one.items :]), one.items) for one in found]
            return _on(max(ways, key=_items), known.items)
        if not found:
            break
        known = _on(found[0], known.items)
    return known


def _on(known: Known, more: int) -> Known:
    return Known(known.turn_id, known.items + more)


def _items(known: Known) -> int:
    return known.items


def _children(tx: Tx, session_id: str, origin: str, parent: str | None, items: Sequence[Key]) -> list[Known]:
    """The turns below a parent whose items are the first of these."""
    first, *_ = items
    about = {"session": session_id, "origin": origin, "item": first.item, "parent": parent or ""}
    found = []
    for turn in rows.natives_beginning.all(tx, **about):
        if turn.digest == first.digest:
            listed = [Key(*native) for native in rows.native_items.all(tx, turn=turn.turn_id)]
            if listed == list(items[: len(listed)]):
                found.append(Known(turn.turn_id, len(listed)))
    return found


def begins_with(tx: Tx, session_id: str, origin: str, parent: str | None, items: Sequence[Key]) -> bool:
    """Whether a turn below a parent has these items first, and more."""
    first, *_ = items
    about = {"session": session_id, "origin": origin, "item": first.item, "parent": parent or ""}
    found = (turn.turn_id for turn in rows.natives_beginning.all(tx, **about) if turn.digest == first.digest)
    listed = ([Key(*native) for native in rows.native_items.all(tx, turn=turn_id)] for turn_id in found)
    return any(each[: len(items)] == list(items) for each in listed)


def ending(tx: Tx, session_id: str, origin: str, item: str) -> str | None:
    """The turn that ends with an item; of several, the one that came last."""
    found = rows.natives_ending.all(tx, session=session_id, origin=origin, item=item)
    return next((row.turn_id for row in found), None)


def of_turn(tx: Tx, turn_id: str) -> list[rows.NativeRow]:
    return rows.natives_of_turn.all(tx, turn=turn_id)


def is_left_alone(tx: Tx, head: Head) -> bool:
    """Whether a head stands where the last graft left it; a new session's does."""
    left = rows.newest_graft.one(tx, session=head.session_id)
    return head.revision == 0 and head.turn_id is None if left is None else left.turn_id == head.turn_id
