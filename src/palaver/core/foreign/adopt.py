"""Loose rows: contract rows that another program wrote and no turn lists.

Readers show them in the tail. Before a verb moves the head they are adopted: they become turns of kind
`foreign`, one per user message and what follows; a turn that seals while they lie beside it takes them as
entries at the place of their created_at instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...base.clock import now_ms
from ...base.lazy_import import later
from ...db.engine import Row, Tx
from ...db.queries import Q
from ...model import Usage
from .. import damage, heads, metadata
from ..heads import Head

if TYPE_CHECKING:
    from .. import digests
    from ..read import previews
    from ..turn import open_turn, response, seal
    from ..turn.open_turn import Entry, OpenTurn
else:
    later(
        globals(),
        ".core.digests",
        ".core.read.previews",
        ".core.turn.response",
        ".core.turn.seal",
        ".core.turn.open_turn",
    )

MARGIN_MS = 5_000  # another program's row may be committed this long after its created_at
_STALE_MS = 1_000  # how far behind looked_at may be: it only says where others need not look again
_FEW = 500  # new rows, over all sessions, that are looked at one by one


class LooseMessage(NamedTuple):
    id: str
    role: str
    metadata: str
    created_at: int


class ScanLog:
    """What this process has looked at. Where nobody else wrote since, there is nothing to see; where the engine numbers
    its rows, only the new ones are looked at."""

    def __init__(self) -> None:
        self._done: dict[str, tuple[int | None, int | None]] = {}

    def last(self, session_id: str) -> tuple[int | None, int | None] | None:
        """(generation, watermark) of the last look that found nothing; None: this process has not looked yet."""
        return self._done.get(session_id)

    def is_fresh(self, session_id: str, generation: int | None) -> bool:
        """Nobody else has written since this process looked here."""
        last = self._done.get(session_id)
        return last is not None and generation is not None and last[0] == generation

    def done(self, session_id: str, generation: int | None, watermark: int | None) -> None:
        if len(self._done) > 10_000:
            self._done.clear()
        self._done[session_id] = (generation, watermark)

    def found(self, session_id: str) -> None:
        """Something lies there: it is looked at again until it is adopted."""
        last = self._done.get(session_id)
        if last is not None:
            self._done[session_id] = (None, last[1])


def find(tx: Tx, session_id: str, since: int = 0) -> list[LooseMessage]:
    return _visible(tx.all(Q.loose_messages, session=session_id, since=since))


def _visible(rows: list[Row]) -> list[LooseMessage]:
    """What no turn lists and nothing hides, in order. A row whose id is no text is nobody's to name: verify does."""
    found: list[LooseMessage] = []
    for message_id, role, text, created_at in rows:
        if isinstance(message_id, str) and not metadata.is_out_of_sight(damage.as_json(text)):
            at = damage.as_time(created_at, found[-1].created_at if found else 0)
            found.append(LooseMessage(message_id, damage.as_text(role), text, at))
    return found


def look(
    tx: Tx, head: Head, scans: ScanLog, *, everywhere: bool = False, closely: bool = False, remember: bool = True
) -> list[LooseMessage]:
    """Loose rows since the last look. The first look of a process is everywhere: what was written while no store was
    open may have any date. `closely`: also where the engine would tell of them only after a while."""
    generation, last = tx.generation(), scans.last(head.session_id)
    if not everywhere and scans.is_fresh(head.session_id, tx.generation(closely=closely)):
        return []
    watermark = tx.watermark()
    if everywhere or last is None:
        found = find(tx, head.session_id)
    elif watermark is not None and last[1] is not None and 0 <= watermark - last[1] <= _FEW:
        found = _visible(tx.all(Q.loose_after, session=head.session_id, watermark=last[1]))
    else:
        found = find(tx, head.session_id, max(0, head.looked_at - MARGIN_MS))
    if found:
        scans.found(head.session_id)
    elif remember:
        scans.done(head.session_id, generation, watermark)
        at = min(head.last_at, now_ms())
        if at - head.looked_at > _STALE_MS:
            tx.defer(Q.looked, session=head.session_id, at=at)
    return found


def glance(tx: Tx, head: Head, glances: ScanLog) -> list[LooseMessage]:
    """Loose rows since the last glance, for who only reads; nothing is written down."""
    last, watermark = glances.last(head.session_id), tx.watermark()
    if last is None:
        found = find(tx, head.session_id)
    elif watermark is None or last[1] is None:
        found = find(tx, head.session_id, max(0, head.looked_at - MARGIN_MS))
    elif watermark == last[1]:
        return []
    else:
        few = 0 <= watermark - last[1] <= _FEW
        query = Q.loose_after if few else Q.loose_in_session_after
        found = _visible(tx.all(query, session=head.session_id, watermark=last[1]))
    if not found:
        glances.done(head.session_id, None, watermark)
    return found


def put_behind(tx: Tx, head: Head, beside: list[LooseMessage]) -> None:
    """Rows of another program that lie beside a turn, and that a caller who named its revision has not read: they get
    the next stamps behind what it is going to say, where every reader finds them. An event keeps the old ones."""
    last = heads.lock(tx, head.session_id, timestamps=len(beside))
    for at, message in enumerate(beside, last.last_at - len(beside) + 1):
        tx.defer(Q.put_behind, id=message.id, at=at)
    open_turn.record_event(tx, last, "restamp", None, {"created_at": {m.id: m.created_at for m in beside}})


def adopt(tx: Tx, head: Head, found: list[LooseMessage]) -> Head:
    """Chain foreign turns onto the head and move it to the last of them."""
    parent = head.turn_id
    for group in _grouped(found):
        lines = [line for message in group for line in lines_of(tx, message)]
        status = "aborted" if _has_open_tool(tx, group) else "completed"
        turn = seal.commit(
            tx,
            head,
            lines,
            [],
            kind="foreign",
            status=status,
            parent_id=parent,
            facts={"adopted_at": now_ms()},
            counted=usage_of(group),
        )
        parent = turn.id
    tx.defer(Q.set_preview, session=head.session_id, preview=previews.recompute(tx, head.session_id))
    return heads.move(tx, head, parent, kind="adopt", reason=f"{len(found)} rows of another program")


def adopt_beside(tx: Tx, head: Head) -> Head:
    """Rows beside an open turn, which a verb that takes its place away must not leave behind: adopted first."""
    beside = find(tx, head.session_id, max(0, head.looked_at - MARGIN_MS)) if head.open_turns else []
    if not beside:
        return head
    adopt(tx, heads.lock(tx, head.session_id, timestamps=0), beside)
    return heads.lock(tx, head.session_id, timestamps=1)


def take_entries(tx: Tx, turn: OpenTurn, found: list[LooseMessage]) -> None:
    """Loose rows beside a turn that seals become its entries, each at the place of its created_at."""
    groups = _groups_of(tx, turn)
    groups += [(m.created_at, m.id, lines_of(tx, m)) for m in found]
    groups.sort(key=lambda group: (group[0], group[1]))
    response.set_usage(tx, turn, turn.usage + usage_of(found), turn.cost)
    tx.defer(Q.drop_entries, turn=turn.id)
    turn.entries, turn.messages = [], 0
    for _, _, lines in groups:
        for line in lines:
            turn.add(tx, line.kind, line.ref, line.client_id, line.salt, line.leaf)
    tx.defer(Q.set_preview, session=turn.session_id, preview=previews.recompute(tx, turn.session_id))


def usage_of(messages: list[LooseMessage]) -> Usage:
    """What the other program counted for its answers; it is in the session's sums already."""
    total = Usage()
    for message in messages:
        if message.role == "assistant":
            total += Usage.from_metadata(damage.parsed(message.metadata)) or Usage()
    return total


def lines_of(tx: Tx, message: LooseMessage) -> list[Entry]:
    """The lines that a foreign message and its parts would be."""
    lines = [_line("message", message.id, message.role, message.metadata)]
    for part_id, _, kind, data in tx.all(Q.parts_of_message, message=message.id):
        lines.append(_line("part", part_id, kind, data))
    return lines


def _line(kind: str, ref: str, name: str, stored: str) -> Entry:
    salt = digests.new_salt()
    return open_turn.Entry(0, kind, ref, None, salt, digests.leaf(salt, damage.as_text(name), stored))


def _groups_of(tx: Tx, turn: OpenTurn) -> list[tuple[int, str, list[Entry]]]:
    """A turn's lines, each message with what follows it, and its row's created_at."""
    groups: list[tuple[int, str, list[Entry]]] = []
    for entry in turn.entries:
        if entry.kind == "message":
            row = tx.one(Q.get_message, id=entry.ref)
            groups.append((damage.as_time(row[4]) if row else 0, entry.ref, []))
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
            if damage.as_text(kind).startswith("tool-") or kind == "dynamic-tool":
                part = damage.parsed(data)
                if not isinstance(part, dict) or part.get("state") not in final:
                    return True
    return False
