"""Places in a session's tree: what `to=` and `at=` mean. A turn, a message, or the id a client knows a message by."""

from __future__ import annotations

from typing import NamedTuple

from ...base import ids
from ...db.engine import Tx
from ...errors import MessageNotFound, NotOnPath, TurnNotFound
from .. import metadata, rows
from ..rows import ListingRow
from . import entries, jumps, turns
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
    listed = [] if on_path else rows.home_turn_of_message.all(tx, message=wanted, session=head.session_id)
    if len(listed) == 1 and not metadata.is_hidden(listed[0].metadata_json):
        (turn,) = listed
        return _after(tx, turn.turn_id, turn.parent_id, wanted, is_sealed=turn.sealed_at is not None)
    turn_id, message_id = find_message(tx, head, wanted, on_path=on_path, in_tail=not on_path)
    place = rows.place_of_turn.one(tx, turn=turn_id)
    if place is None:  # of a queued message that was taken back
        raise MessageNotFound(wanted, "it never had a place in the tree")
    if not on_path and not _is_ours(tx, head, turn_id, place.session_id):
        why = f"message {wanted!r} is one of session {place.session_id}, not of {head.session_id}; fork that session"
        raise MessageNotFound(wanted, sentence=why)
    return _after(tx, turn_id, place.parent_id, message_id, is_sealed=place.sealed_at is not None)


def _turn(tx: Tx, head: Head, turn_id: str, *, on_path: bool) -> Place:
    turn = rows.place_of_turn.one(tx, turn=turn_id)
    if turn is None:
        raise TurnNotFound(turn_id)
    if on_path and not jumps.is_ancestor(tx, turn_id, head.turn_id):
        raise NotOnPath(turn_id, head.session_id)
    if not on_path and not _is_ours(tx, head, turn_id, turn.session_id):
        why = f"turn {turn_id!r} is one of session {turn.session_id}, not of {head.session_id}; fork that session"
        raise TurnNotFound(turn_id, sentence=why)
    return Place(turn_id, turn.parent_id, entries.of_turn(tx, turn_id) if turn.sealed_at is None else None)


def _is_ours(tx: Tx, head: Head, turn_id: str, home: str) -> bool:
    """Whether a turn is in the tree of the session: mostly one of its own, or before its head."""
    if home == head.session_id or jumps.is_ancestor(tx, turn_id, head.turn_id):
        return True
    return turns.is_known(tx, head.session_id, turn_id)


def _after(tx: Tx, turn_id: str, parent_id: str | None, message_id: str, *, is_sealed: bool) -> Place:
    """The place right after a message; the whole turn if it is the turn's last one."""
    listed = entries.of_turn(tx, turn_id)
    end = entries.end_of_message(listed, message_id)
    is_whole = is_sealed and not any(entry.kind == "message" for entry in listed[end:])
    return Place(turn_id, parent_id, None if is_whole else listed[:end])


def find_message(tx: Tx, head: Head, wanted: str, *, on_path: bool, in_tail: bool) -> tuple[str, str]:
    """(turn, message row) for a row id or a client id; the newest wins: open turns, then from the head back."""
    listings = rows.turns_of_message.all(tx, message=wanted)
    tail = _open_turns(tx, head) if in_tail else []
    by_row = _listed(tx, head, wanted, tail, {each.turn_id for each in listings}) if listings else None
    found = by_row or _known_as(tx, head, wanted, tail)
    return found or (_off_the_path(head, wanted, listings, on_path=on_path), wanted)


def _open_turns(tx: Tx, head: Head) -> list[str]:
    """Those that stand on the head, newest first."""
    opened = rows.open_turns.all(tx, session=head.session_id)
    return [t.id for t in reversed(opened) if t.base_revision == head.revision and t.status != "pending"]


def _listed(tx: Tx, head: Head, message_id: str, tail: list[str], turns: set[str]) -> tuple[str, str] | None:
    for turn_id in tail:
        if turn_id in turns:
            return turn_id, message_id
    turn = entries.listing(tx, message_id, head.turn_id)
    return None if turn is None else (turn, message_id)


def _known_as(tx: Tx, head: Head, wanted: str, tail: list[str]) -> tuple[str, str] | None:
    """By the id that a client knows it by."""
    for turn_id in tail:
        listed = entries.of_turn(tx, turn_id)
        found = [entry.ref for entry in listed if entry.kind == "message" and entry.client_id == wanted]
        if found:
            return turn_id, min(found)
    row = rows.client_id_on_path.one(tx, turn=head.turn_id, name=wanted) if head.turn_id else None
    return None if row is None else (row.turn_id, row.ref)


def _off_the_path(head: Head, wanted: str, listings: list[ListingRow], *, on_path: bool) -> str:
    if listings and not on_path:
        return listings[-1].turn_id
    if listings:
        raise NotOnPath(wanted, head.session_id)
    raise MessageNotFound(wanted, "read messages() for the ids on the path")


def nearest_user_message(tx: Tx, turn_id: str | None) -> tuple[str | None, str | None]:
    """(message, home) of the last thing the user said on the way to a turn."""
    said = rows.nearest_user_message.one(tx, turn=turn_id) if turn_id else None
    return (None, None) if said is None else (said.id, said.session_id)
