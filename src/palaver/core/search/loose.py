"""Rows of other programs, in any session: those that came since the index was last written, by a mark of the engine (on
SQLite the number of the newest row, on Postgres the transaction that wrote a row), and those known before.

Where the mark is not of this place, or there is none, all rows are looked at.
"""

from __future__ import annotations

import msgspec

from ...db.engine import Tx
from . import records
from .ahead import in_chunks
from .records import MessageRow

_MOST_KNOWN = 100  # rows that are remembered beside a mark


class Looked(msgspec.Struct, array_like=True, frozen=True):
    """Up to `mark`, only the rows of these ids are other programs'."""

    mark: int
    guard: str
    known: list[str] = []


def looked(value: str | None) -> Looked | None:
    """None: nobody has looked."""
    try:
        return msgspec.json.decode(value, type=Looked) if value else None
    except msgspec.DecodeError:
        return None


def find(tx: Tx, looked: Looked | None, limit: int) -> list[MessageRow]:
    came = tx.arrived(looked.mark, looked.guard, limit) if looked else None
    if looked is None or came is None:
        return records.loose_everywhere.all(tx, limit=limit)
    names = dict.fromkeys(each for each in [*came, *looked.known] if isinstance(each, str))
    return [row for some in in_chunks(names) for row in records.loose_among.all(tx, **some)][:limit]


def newest(tx: Tx, before: Looked | None) -> Looked | None:
    """How far there is nothing more to find; None: no further than before. The mark comes first: what is seen then has
    all that is below it."""
    now = tx.arrival()
    if now is None or (before is not None and now == (before.mark, before.guard)):
        return None
    found = find(tx, before, _MOST_KNOWN + 1)
    return None if len(found) > _MOST_KNOWN else Looked(*now, [row.id for row in found if isinstance(row.id, str)])
