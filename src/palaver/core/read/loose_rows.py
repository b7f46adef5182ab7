"""Loose rows: contract rows that another program wrote and no turn lists. Readers show them in the tail."""

from __future__ import annotations

from typing import NamedTuple

from ...db.engine import Row, Tx
from ...db.queries import Q
from .. import damage, metadata
from ..runtime import ScanLog
from .heads import Head

MARGIN_MS = 5_000  # another program's row may be committed this long after its created_at
FEW = 500  # new rows, over all sessions, that are read one by one
NEWEST = 200  # rows of a session among which a window looks for loose ones


class LooseMessage(NamedTuple):
    id: str
    role: str
    metadata: str
    created_at: int


def find(tx: Tx, session_id: str, since: int = 0) -> list[LooseMessage]:
    return _visible(tx.all(Q.loose_messages, session=session_id, since=since))


def find_recent(tx: Tx, head: Head) -> list[LooseMessage]:
    """Those that may have come since the session was last scanned."""
    return find(tx, head.session_id, max(0, head.looked_at - MARGIN_MS))


def find_newest(tx: Tx, session_id: str) -> list[LooseMessage]:
    """Those among the newest rows of a session, and of as many before them while there are some: so a window costs the
    same however long a session is. What another program dated before all of these, a scan finds, and adopts."""
    found, limit = list[LooseMessage](), NEWEST
    while True:
        before, found = len(found), _visible(tx.all(Q.newest_loose, session=session_id, limit=limit))
        if len(found) == before:
            return found
        limit *= 2


def find_after(tx: Tx, session_id: str, watermark: int) -> list[LooseMessage]:
    """Those among a few rows, of all sessions, that came after a watermark."""
    return _visible(tx.all(Q.loose_after, session=session_id, watermark=watermark))


def _visible(found_rows: list[Row]) -> list[LooseMessage]:
    """What nothing hides, in order. A row whose id is not text is skipped; verify reports it."""
    found: list[LooseMessage] = []
    for message_id, role, text, created_at in found_rows:
        if isinstance(message_id, str) and not metadata.is_out_of_sight(damage.as_json(text)):
            at = damage.as_time(created_at, found[-1].created_at if found else 0)
            found.append(LooseMessage(message_id, damage.as_text(role), text, at))
    return found


def glance(tx: Tx, head: Head, glances: ScanLog) -> list[LooseMessage]:
    """Loose rows since the last glance, for a process that only reads; nothing is written down."""
    last, watermark = glances.last(head.session_id), tx.watermark()
    if last is None:
        found = find(tx, head.session_id)
    elif watermark is None or last.watermark is None:
        found = find_recent(tx, head)
    elif watermark == last.watermark:
        return []
    elif 0 <= watermark - last.watermark <= FEW:
        found = find_after(tx, head.session_id, last.watermark)
    else:
        found = _visible(tx.all(Q.loose_in_session_after, session=head.session_id, watermark=last.watermark))
    if not found:
        glances.done(head.session_id, None, watermark)
    return found
