"""What happened to a session, in the order of its numbers: chunks, other changes, and the moves of its head."""

from __future__ import annotations

from ...base import arguments
from ...base.clock import now_ms
from ...db.engine import Row, Tx
from ...db.queries import Q
from ...model import Event, Line, Window
from .. import damage, rows
from . import sessions
from .jumps import FAR
from .windows import Asked, Cursors, Frame, Mark


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


def history(tx: Tx, session_id: str, asked: Asked) -> Window[Line]:
    """The moves of the head. Any number is a mark: those of other events, too."""
    sessions.require(tx, session_id)
    cursors = Cursors("history", session_id)

    def find(given: int | str, is_after: bool) -> Mark:
        if isinstance(given, str):
            (given,) = cursors.typed(given, cursors.item(given) or [], int)
        return Mark(arguments.whole("after" if is_after else "before", given, most=FAR - 2), cursors.of(given))

    frame = Frame.of(asked, cursors, find, -1, FAR)
    low, high = frame.low.place, frame.high.place
    found = _lines(tx, session_id, low, high, asked.take, goes_on=asked.goes_on)
    is_before = not frame.low.is_start and bool(_lines(tx, session_id, -1, low + 1, 1))
    is_after = not frame.high.is_end and bool(_lines(tx, session_id, high - 1, FAR, 1))
    return frame.window(found, frame.kept(found), lambda line: cursors.of(line.seq), (is_before, is_after))


def _lines(tx: Tx, session_id: str, after: int, before: int, count: int, *, goes_on: bool = False) -> list[Line]:
    """The last ones between two numbers, or the first."""
    query = rows.history_after if goes_on else rows.history_before
    found = query.all(tx, session=session_id, after=after, before=before, limit=count)
    return [
        Line(seq, kind, turn_id, revision, at, ref_seq, reason)
        for seq, kind, turn_id, revision, at, ref_seq, reason, _ in (found if goes_on else reversed(found))
    ]
