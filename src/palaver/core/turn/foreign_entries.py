"""Loose rows as entries of a turn: of one that adopts them, or of one that seals while they lie beside it."""

from __future__ import annotations

from collections.abc import Sequence

from ...aisdk import token_usage
from ...db.engine import Tx
from ...db.queries import Q
from ...model import Usage
from .. import damage, digests, rows
from ..read import previews
from ..read.entries import Entry
from ..read.loose_rows import LooseMessage
from . import response
from .open_turn import OpenTurn


def of_message(tx: Tx, message: LooseMessage) -> list[Entry]:
    """The entries that a foreign message and its parts would be."""
    parts = rows.parts.all(tx, message=message.id)
    entries = [_entry("message", message.id, message.role, message.metadata)]
    return entries + [_entry("part", part.id, part.type, part.data_json) for part in parts]


def _entry(kind: str, ref: str, name: str, stored: str) -> Entry:
    salt = digests.new_salt()
    return Entry(0, kind, ref, None, salt, digests.leaf(salt, damage.as_text(name), stored))


def usage_of(messages: Sequence[LooseMessage]) -> Usage:
    """What the other program counted for its answers; it is in the session's sums already."""
    total = Usage()
    for message in messages:
        if message.role == "assistant":
            total += token_usage.from_metadata(damage.parsed(message.metadata)) or Usage()
    return total


def take(tx: Tx, turn: OpenTurn, beside: Sequence[LooseMessage]) -> None:
    """Loose rows beside a turn that seals become its entries, each at the place of its created_at."""
    groups = _groups_of(tx, turn)
    groups += [(message.created_at, message.id, of_message(tx, message)) for message in beside]
    groups.sort(key=lambda group: group[:2])
    response.set_usage(tx, turn, turn.usage + usage_of(beside), turn.cost)
    turn.drop_entries(tx)
    for _, _, entries in groups:
        for entry in entries:
            turn.add(tx, entry.kind, entry.ref, entry.client_id, entry.salt, entry.leaf)
    tx.defer(Q.set_preview, session=turn.session_id, preview=previews.recompute(tx, turn.session_id))


def _groups_of(tx: Tx, turn: OpenTurn) -> list[tuple[int, str, list[Entry]]]:
    """A turn's entries, each message with what follows it, and its row's created_at."""
    groups: list[tuple[int, str, list[Entry]]] = []
    entries: list[Entry] = []
    for entry in turn.entries:
        if entry.kind == "message":
            row = rows.message.one(tx, id=entry.ref)
            entries = []
            groups.append((damage.as_time(row.created_at) if row else 0, entry.ref, entries))
        entries.append(entry)
    return groups
