"""Places in a session's tree: what `to=` and `at=` mean. A turn, a message, or the id a client knows a message by."""

from __future__ import annotations

from typing import NamedTuple

from ...base import ids
from ...db.engine import Tx
from ...errors import MessageNotFound, NotOnPath, TurnNotFound
from .. import metadata, rows
from ..rows import ListingRow
from . import entries
from .entries import Entry
from .heads import Head


class Place(NamedTuple):
    """A turn, and which of its entries count; None: it is sealed and all of them do."""

    turn_id: str
    parent_id: str | None
    entries: list[Entry] | None


def find(tx: Tx, head: Head, wanted: str, *, on_path: bool) -> Place:
    if wanted.startswith(ids.TURN):
        return _turn(tx, head, wanted, on_path=on_path)
    shown = None if on_path else rows.home_turn_of_message.one(tx, message=wanted, session=head.session_id)
    if shown is not None and not metadata.is_hidden(shown.metadata_json):
        # Any turn that lists the message will do: all of them list the same before it.
        return _after(tx, shown.turn_id, shown.parent_id, wanted, is_sealed=shown.sealed_at is not None)
    turn_id, message_id = find_message(tx, head, wanted, on_path=on_path, in_tail=not on_path)
    turn = rows.place_of_turn.one(tx, turn=turn_id)
    if turn is None:  # of a queued message that was taken back
        raise MessageNotFound(wanted, "it never had a place in the tree")
    return _after(tx, turn_id, turn.parent_id, message_id, is_sealed=turn.sealed_at is not None)


def _turn(tx: Tx, head: Head, turn_id: str, *, on_path: bool) -> Place:
    turn = rows.place_of_turn.one(tx, turn=turn_id)
    if turn is None:
        raise TurnNotFound(turn_id)
    if on_path and turn_id not in entries.path(tx, head.turn_id):
        raise NotOnPath(turn_id, head.session_id)
    return Place(turn_id, turn.parent_id, entries.of_turn(tx, turn_id) if turn.sealed_at is None else None)


def _after(tx: Tx, turn_id: str, parent_id: str | None, message_id: str, *, is_sealed: bool) -> Place:
    """The place right after a message; the whole turn if it is the turn's last one."""
    listed = entries.of_turn(tx, turn_id)
    end = entries.end_of_message(listed, message_id)
    is_whole = is_sealed and not any(entry.kind == "message" for entry in listed[end:])
    return Place(turn_id, parent_id, None if is_whole else listed[:end])


def find_message(tx: Tx, head: Head, wanted: str, *, on_path: bool, in_tail: bool) -> tuple[str, str]:
    """(turn, message row) for a row id or a client id; the newest wins: open turns, then from the head back."""
    listings = rows.turns_of_message.all(tx, message=wanted)
    open_turns = [
        turn.id
        for turn in rows.open_turns.all(tx, session=head.session_id)
        if turn.base_revision == head.revision and turn.status != "pending"
    ]
    path = (open_turns[::-1] if in_tail else []) + entries.path(tx, head.turn_id)
    order = {turn_id: place for place, turn_id in enumerate(path)}
    found = [(order[each.turn_id], each.turn_id, wanted) for each in listings if each.turn_id in order]
    found = found or [(order[turn], turn, message) for turn, message in _by_client_id(tx, path, wanted)]
    if found:
        _, turn_id, message_id = min(found)
        return turn_id, message_id
    return _off_the_path(head, wanted, listings, on_path=on_path), wanted


def _off_the_path(head: Head, wanted: str, listings: list[ListingRow], *, on_path: bool) -> str:
    if listings and not on_path:
        return listings[-1].turn_id
    if listings:
        raise NotOnPath(wanted, head.session_id)
    raise MessageNotFound(wanted, "read messages() for the ids on the path")


def _by_client_id(tx: Tx, path: list[str], wanted: str) -> list[tuple[str, str]]:
    for turn_id in path:
        listed = entries.of_turn(tx, turn_id)
        found = [(turn_id, e.ref) for e in listed if e.kind == "message" and e.client_id == wanted]
        if found:
            return found
    return []


def nearest_user_message(tx: Tx, turn_id: str | None) -> tuple[str | None, str | None]:
    """(message, home) of the last thing the user said on the way to a turn: mostly a step or two away."""
    while turn_id is not None:
        said = rows.last_user_message.one(tx, turn=turn_id)
        if said is not None:
            return said.id, said.session_id
        turn = rows.parent_of.one(tx, turn=turn_id)
        turn_id = turn.parent_id if turn else None
    return None, None
