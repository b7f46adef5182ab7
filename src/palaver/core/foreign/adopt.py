"""Adoption: loose rows become turns of kind `foreign`, one per user message and what follows, before a verb moves the
head. Rows that lie beside an open turn wait for its seal, which takes them as entries (see turn/foreign_entries.py)."""

from __future__ import annotations

from ...aisdk.parts import FINAL, is_tool
from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from .. import damage, heads, rows
from ..read import loose_rows, previews
from ..read.heads import Head
from ..read.loose_rows import FEW, LooseMessage
from ..runtime import ScanLog
from ..turn import foreign_entries, open_turn, seal

_STALE_MS = 1_000  # how far behind looked_at may be: it only says where others need not scan again


def scan(
    tx: Tx, head: Head, scans: ScanLog, *, everywhere: bool = False, closely: bool = False, remember: bool = True
) -> list[LooseMessage]:
    """Loose rows since the last scan. The first scan of a process is everywhere: what was written while no store was
    open may have any date. `closely`: also where the engine would tell of them only after a while."""
    generation, last = tx.generation(), scans.last(head.session_id)
    if not everywhere and scans.is_fresh(head.session_id, tx.generation(closely=closely)):
        return []
    watermark = tx.watermark()
    if everywhere or last is None:
        found = loose_rows.find(tx, head.session_id)
    elif watermark is not None and last.watermark is not None and 0 <= watermark - last.watermark <= FEW:
        found = loose_rows.find_after(tx, head.session_id, last.watermark)
    else:
        found = loose_rows.find_recent(tx, head)
    if found:
        scans.found(head.session_id)
    elif remember:
        scans.done(head.session_id, generation, watermark)
        _note_scan(tx, head)
    return found


def _note_scan(tx: Tx, head: Head) -> None:
    at = min(head.last_at, now_ms())
    if at - head.looked_at > _STALE_MS:
        tx.defer(Q.looked, session=head.session_id, at=at)


def adopt(tx: Tx, head: Head, found: list[LooseMessage]) -> Head:
    """Chain foreign turns onto the head and move it to the last of them."""
    parent = head.turn_id
    for group in _grouped(found):
        turn = seal.commit(
            tx,
            head,
            [],
            entries=[entry for message in group for entry in foreign_entries.of_message(tx, message)],
            kind="foreign",
            status="aborted" if _has_open_tool(tx, group) else "completed",
            parent_id=parent,
            facts={"adopted_at": now_ms()},
            counted=foreign_entries.usage_of(group),
        )
        parent = turn.id
    tx.defer(Q.set_preview, session=head.session_id, preview=previews.recompute(tx, head.session_id))
    newest = min(max(damage.as_time(message.created_at) for message in found), now_ms())
    tx.defer(Q.note_message, session=head.session_id, at=newest)
    return heads.move(tx, head, parent, kind="adopt", reason=f"{len(found)} rows of another program")


def beside(tx: Tx, head: Head) -> list[LooseMessage]:
    """Loose rows beside an open turn; nothing, where none is open: those were adopted."""
    return loose_rows.find_recent(tx, head) if head.open_turns else []


def adopt_beside(tx: Tx, head: Head) -> Head:
    """A verb that takes an open turn's place away adopts the rows beside it first."""
    found = beside(tx, head)
    if not found:
        return head
    adopt(tx, heads.lock(tx, head.session_id, timestamps=0), found)
    return heads.lock(tx, head.session_id, timestamps=1)


def put_behind(tx: Tx, head: Head, found: list[LooseMessage]) -> None:
    """Rows of another program that lie beside a turn, and that a caller who named its revision has not read: they get
    the next created_at behind what it is going to say, where every reader finds them. An event keeps the old ones."""
    last = heads.lock(tx, head.session_id, timestamps=len(found))
    for at, message in enumerate(found, last.last_at - len(found) + 1):
        tx.defer(Q.put_behind, id=message.id, at=at)
    open_turn.record_event(tx, last, "restamp", None, {"created_at": {m.id: m.created_at for m in found}})


def _grouped(found: list[LooseMessage]) -> list[list[LooseMessage]]:
    groups: list[list[LooseMessage]] = []
    for message in found:
        if message.role == "user" or not groups:
            groups.append([])
        groups[-1].append(message)
    return groups


def _has_open_tool(tx: Tx, group: list[LooseMessage]) -> bool:
    for message in group:
        for row in rows.parts.all(tx, message=message.id):
            if is_tool(damage.as_text(row.type)):
                part = damage.parsed(row.data_json)
                if not isinstance(part, dict) or part.get("state") not in FINAL:
                    return True
    return False
