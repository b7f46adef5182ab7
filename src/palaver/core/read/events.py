"""What happened to a session, in the order of its numbers: chunks, other changes, and the moves of its head."""

from __future__ import annotations

from ...base.clock import now_ms
from ...db.engine import Row, Tx
from ...db.queries import Q
from ...model import Event, Line
from .. import damage, rows
from . import sessions


def read(tx: Tx, session_id: str, after: int, limit: int) -> list[Event]:
    sessions.require(tx, session_id)
    return _after(tx, session_id, after, limit)


def _after(tx: Tx, session_id: str, after: int, limit: int) -> list[Event]:
    return [_event(row) for row in tx.all(Q.events_after, session=session_id, after=after, limit=limit)]


def since(tx: Tx, session_id: str, cursor: int, limit: int) -> list[Event]:
    """What came after a cursor; one `reset` if some of that may have been trimmed."""
    floor, _ = tx.one(Q.floor_of, session=session_id) or (0, 0)
    if cursor < floor:
        return [Event(newest(tx, session_id), "reset", None, {"floor": floor}, now_ms())]
    return _after(tx, session_id, cursor, limit)


def _event(row: Row) -> Event:
    seq, kind, turn, data, at, turn_id, revision, reason = row
    if data is None:
        return Event(seq, kind, turn, {"turn": turn_id, "revision": revision, "reason": reason}, at)
    value = damage.parsed(data)
    return Event(seq, kind, turn, {"damaged": seq} if value is None and data != "null" else value, at)


def newest(tx: Tx, session_id: str) -> int:
    """The number of the last thing that happened to a session."""
    head = rows.head.one(tx, session=session_id)
    (last,) = tx.one(Q.max_event, session=session_id) or (0,)
    return max(head.event_seq if head else 0, last or 0)


def cursor(tx: Tx, session_id: str) -> int:
    """The number of the newest event of a session that must be there."""
    sessions.require(tx, session_id)
    return newest(tx, session_id)


def history(tx: Tx, session_id: str) -> list[Line]:
    sessions.require(tx, session_id)
    return [
        Line(seq, kind, turn_id, revision, at, ref_seq, reason)
        for seq, kind, turn_id, revision, at, ref_seq, reason, _ in rows.history.all(tx, session=session_id)
    ]
