"""Loose rows: contract rows that another program wrote and no turn lists.

Readers show them in the tail. Before a verb moves the head they are adopted: they become turns of kind
`foreign`, one per user message and what follows; a turn that seals while they lie beside it takes them as
entries at the place of their created_at instead.
"""

from __future__ import annotations

from typing import NamedTuple

from .. import canonical
from ..clock import monotonic, now_ms
from ..db.database import Tx
from ..db.queries import Q
from . import digests, heads, metadata, previews, turns
from .heads import Head
from .turns import Entry, OpenTurn

MARGIN_MS = 5_000  # another program's row may be committed this long after its created_at
_CHEAP = 0.0005  # seconds; a look this short is not worth saving


class LooseMessage(NamedTuple):
    id: str
    role: str
    metadata: str
    created_at: int


class Looks:
    """When this process last looked at each session: nobody else wrote since, so there is nothing to see."""

    def __init__(self) -> None:
        self._whole: set[str] = set()
        self._seen: dict[str, int] = {}
        self._rest: dict[str, float] = {}

    def is_first(self, session_id: str) -> bool:
        """What was written while no store was open may have any date: the first look is over everything."""
        return session_id not in self._whole

    def is_needless(self, session_id: str, generation: int | None) -> bool:
        if generation is not None and self._seen.get(session_id) == generation:
            return True
        return monotonic() < self._rest.get(session_id, 0.0)

    def done(self, session_id: str, generation: int | None, seconds: float) -> None:
        """A long look that found nothing is not repeated at once: at most 5 % of the time goes there."""
        if len(self._whole) > 10_000:
            self.clear()
        self._whole.add(session_id)
        if generation is not None:
            self._seen[session_id] = generation
        if seconds > _CHEAP:
            self._rest[session_id] = monotonic() + 20 * seconds

    def clear(self) -> None:
        self._whole.clear()
        self._seen.clear()
        self._rest.clear()


def find(tx: Tx, session_id: str, since: int = 0) -> list[LooseMessage]:
    rows = tx.all(Q.loose_messages, session=session_id, since=since)
    return [LooseMessage(*row) for row in rows if not metadata.is_out_of_sight(row[2])]


def look(tx: Tx, head: Head, looks: Looks, *, everywhere: bool = False) -> list[LooseMessage]:
    """Loose rows since the last look, less a margin."""
    generation = tx.generation()
    if not everywhere and looks.is_needless(head.session_id, generation):
        return []
    everywhere = everywhere or looks.is_first(head.session_id)
    since = 0 if everywhere else max(0, head.looked_at - MARGIN_MS)
    started = monotonic()
    found = find(tx, head.session_id, since)
    if not found:  # what was found is looked at again until it is adopted
        looks.done(head.session_id, generation, monotonic() - started)
        tx.later(Q.looked, session=head.session_id, at=min(head.last_at, now_ms()))
    return found


def adopt(tx: Tx, head: Head, found: list[LooseMessage]) -> Head:
    """Chain foreign turns onto the head and move it to the last of them."""
    parent = head.turn_id
    for group in _grouped(found):
        lines = [line for message in group for line in lines_of(tx, message)]
        status = "aborted" if _has_open_tool(tx, group) else "completed"
        turn = turns.commit(
            tx,
            head,
            lines,
            [],
            kind="foreign",
            status=status,
            parent_id=parent,
            facts={"adopted_at": now_ms()},
        )
        parent = turn.id
    tx.later(Q.set_preview, session=head.session_id, preview=previews.recompute(tx, head.session_id))
    return heads.move(tx, head, parent, kind="adopt", reason=f"{len(found)} rows of another program")


def take_in(tx: Tx, turn: OpenTurn, found: list[LooseMessage]) -> None:
    """Loose rows beside a turn that seals become its entries, each at the place of its created_at."""
    groups = _groups_of(tx, turn)
    groups += [(m.created_at, m.id, lines_of(tx, m)) for m in found]
    groups.sort(key=lambda group: (group[0], group[1]))
    tx.later(Q.drop_entries, turn=turn.id)
    turn.entries, turn.messages = [], 0
    for _, _, lines in groups:
        for line in lines:
            turn.add(tx, line.kind, line.ref, line.client_id, line.salt, line.leaf)
    tx.later(Q.set_preview, session=turn.session_id, preview=previews.recompute(tx, turn.session_id))


def lines_of(tx: Tx, message: LooseMessage) -> list[Entry]:
    """The lines that a foreign message and its parts would be."""
    lines = [_line("message", message.id, message.role, message.metadata)]
    for part_id, _, kind, data in tx.all(Q.parts_of_message, message=message.id):
        lines.append(_line("part", part_id, kind, data))
    return lines


def _line(kind: str, ref: str, name: str, stored: str) -> Entry:
    salt = digests.new_salt()
    return Entry(0, kind, ref, None, salt, digests.leaf(salt, name, stored))


def _groups_of(tx: Tx, turn: OpenTurn) -> list[tuple[int, str, list[Entry]]]:
    """A turn's lines, each message with what follows it, and its row's created_at."""
    groups: list[tuple[int, str, list[Entry]]] = []
    for entry in turn.entries:
        if entry.kind == "message":
            row = tx.one(Q.get_message, id=entry.ref)
            groups.append((row[4] if row else 0, entry.ref, []))
        groups[-1][2].append(entry)
    return groups


def _grouped(found: list[LooseMessage]) -> list[list[LooseMessage]]:
    groups: list[list[LooseMessage]] = []
    for message in found:
        if message.role == "user" or not groups:
            groups.append([])
        groups[-1].append(message)
    return groups


def _has_open_tool(tx: Tx, group: list[LooseMessage]) -> bool:
    final = {"output-available", "output-error", "output-denied"}
    for message in group:
        for _, _, kind, data in tx.all(Q.parts_of_message, message=message.id):
            if kind.startswith("tool-") or kind == "dynamic-tool":
                part = canonical.parse(data)
                if not isinstance(part, dict) or part.get("state") not in final:
                    return True
    return False
