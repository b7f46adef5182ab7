"""What was used, as a caller sees it: by response, and how large the context is by now."""

from __future__ import annotations

from ...db.engine import Tx
from ...model import Usage, UsageEntry
from .. import rows
from . import sessions

_PAGE = 1_000


def of_session(tx: Tx, session_id: str) -> list[UsageEntry]:
    sessions.require(tx, session_id)
    found, after = list[UsageEntry](), 0
    while page := rows.usage_of_session.all(tx, session=session_id, after=after, limit=_PAGE):
        found += map(_entry, page)
        after = page[-1].n
    return found


def _entry(row: rows.UsageRow) -> UsageEntry:
    return UsageEntry(
        n=row.n,
        turn_id=row.turn_id,
        message_id=row.message_id,
        key=row.key,
        source=row.source,
        provider=row.provider,
        model=row.model,
        usage=Usage(row.input, row.output, row.reasoning, row.cache_read, row.cache_write),
        cost_reported=row.cost_reported,
        cost_computed=row.cost_computed,
        price=row.price,
        at=row.at,
    )


def context_tokens(tx: Tx, session_id: str) -> int | None:
    """What the newest answer on the path, of which anything was told, was given and gave."""
    sessions.require(tx, session_id)
    head = rows.head.one(tx, session=session_id)
    turn_id, seen = head.turn_id if head else None, set[str]()
    while turn_id is not None and turn_id not in seen:
        seen.add(turn_id)
        used = rows.newest_usage_of_turn.one(tx, turn=turn_id)
        if used is not None:
            return used.input + used.cache_read + used.cache_write + used.output
        parent = rows.parent_of.one(tx, turn=turn_id)
        turn_id = parent.parent_id if parent else None
    return None
