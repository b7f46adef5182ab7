"""Which message rows came since: each tells the transaction that wrote it (`xmin`), whatever its date and its id are.

No index holds that: the headers of all message rows are read, if any transaction came since. Those that are older are
left out first, row by row, without a join over all. A mark is the oldest transaction that was under way when it was
made, and it is known by the transaction that wrote it down, which the row of the setting must name: a copy of the store
on another server names another.

A statement that asks for transactions is none of the named ones: those run on Citus, too, where each node counts its
own; there is no mark on it.
"""

from __future__ import annotations

from ..engine import Row

_COUNT = 2**32  # transactions after which their numbers come round,
_OLDEST = 1_000_000_000  # and how far away one is at most
MARK = (
    "SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT), CAST(pg_current_xact_id() AS TEXT)"
)
WRITER = "SELECT CAST(xmin AS TEXT), age(xmin) FROM settings WHERE name = 'search_looked'"
SINCE = """
SELECT m.id FROM (
    SELECT id, created_at FROM chat_messages
     WHERE (SELECT age(CAST($1 AS XID))) <> 1 AND age(xmin) <= (SELECT age(CAST($1 AS XID))) OFFSET 0) m
 CROSS JOIN LATERAL (
    SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM turn_entries e WHERE e.ref = m.id AND e.kind = 'message')
       AND NOT EXISTS (SELECT 1 FROM copies c WHERE c.copy_id = m.id) OFFSET 0) loose
 ORDER BY m.created_at DESC LIMIT $2
"""


def is_of_here(found: list[Row], guard: str) -> bool:
    """Whether the row that holds a mark was written by the transaction that it names, and not too long ago."""
    for writer, age in found:
        return guard.isdecimal() and str(int(guard) % _COUNT) == writer and 0 <= age < _OLDEST
    return False


def as_xid(mark: int) -> str:
    return str(mark % _COUNT)
