"""What happened to a session, in the order of its numbers: chunks, other changes, and the moves of its head."""

from __future__ import annotations

from ...base.clock import now_ms
from ...db.engine import Row, Tx
from ...db.queries import Q
from ...model import Event, Line, TurnInfo, Usage
from .. import damage


def read(tx: Tx, session_id: str, after: int, limit: int) -> list[Event]:
    return [_event(row) for row in tx.all(Q.events_after, session=session_id, after=after, limit=limit)]


def since(tx: Tx, session_id: str, cursor: int, limit: int) -> list[Event]:
    """What came after a cursor; one `reset` if some of that may have been trimmed."""
    row = tx.one(Q.floor_of, session=session_id)
    if row is not None and cursor < row[0]:
        return [Event(newest(tx, session_id), "reset", None, {"floor": row[0]}, now_ms())]
    return read(tx, session_id, cursor, limit)


def _event(row: Row) -> Event:
    seq, kind, turn, data, at, turn_id, revision, reason = row
    if data is None:
        return Event(seq, kind, turn, {"turn": turn_id, "revision": revision, "reason": reason}, at)
    value = damage.parsed(data)
    return Event(seq, kind, turn, {"damaged": seq} if value is None and data != "null" else value, at)


def newest(tx: Tx, session_id: str) -> int:
    """The number of the last thing that happened to a session."""
    head = tx.one(Q.read_head, session=session_id)
    row = tx.one(Q.max_event, session=session_id)
    return max(head[2] if head else 0, row[0] or 0 if row else 0)


def history(tx: Tx, session_id: str) -> list[Line]:
    return [Line(*row[:7]) for row in tx.all(Q.history, session=session_id)]


def strays(tx: Tx, session_id: str) -> list[str]:
    """The turns that were left beside the path, in the order that they were."""
    told = [damage.parsed(data) for (data,) in tx.all(Q.strays, session=session_id)]
    return [each["turn"] for each in told if isinstance(each, dict) and isinstance(each.get("turn"), str)]


def turn_info(row: Row) -> TurnInfo:
    return TurnInfo(
        id=row[0],
        parent_id=row[1],
        session_id=row[2],
        kind=row[3],
        status=row[4],
        base_revision=row[5],
        depth=row[6],
        started_at=row[7],
        sealed_at=row[8],
        digest=row[9],
        response_id=row[10],
        usage=Usage(*row[11:16]),
        cost_usd=row[16],
        thread_tokens=row[17],
        thread_messages=row[18],
    )


def tree(tx: Tx, session_id: str) -> list[TurnInfo]:
    """Every turn this session ever pointed at, began or left behind, and their ancestors; parents first."""
    wanted = {row[2] for row in tx.all(Q.history, session=session_id) if row[2]}
    wanted |= {row[0] for row in tx.all(Q.open_turns, session=session_id)}
    wanted |= set(strays(tx, session_id))
    found: dict[str, TurnInfo] = {}
    queue = sorted(wanted)
    while queue:
        turn_id = queue.pop()
        row = tx.one(Q.get_turn, turn=turn_id) if turn_id not in found else None
        if row is not None:
            found[turn_id] = turn_info(row)
            if row[1]:
                queue.append(row[1])
    return sorted(found.values(), key=lambda t: (t.depth, t.started_at, t.id))
