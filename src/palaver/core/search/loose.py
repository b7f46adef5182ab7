"""Rows of other programs, in any session: those that came since the index was last written, and those known before.

Engines tell what came since by a mark. On SQLite it is the number of the newest message row. On Postgres rows have no
numbers, but each tells the transaction that wrote it; the mark is the oldest that was under way, and the headers of all
message rows are read (not the rows, and no index of ours): a date or an id may be anything, what wrote a row may not.

A mark holds only where it was made: a guard beside it says whether it still does. On SQLite it is the id of the row
with that number, on Postgres the transaction that wrote the mark, which its own row must name: a copy of the store
elsewhere names another. Where it does not hold, all rows are looked at.
"""

from __future__ import annotations

import msgspec

from ...db.engine import Tx
from . import records
from .keys import several
from .records import MessageRow, SettingRow

_MOST_KNOWN = 100  # rows that are remembered beside a mark
_OLDEST = 1_000_000_000  # transactions; their numbers come round after four times as many


class Looked(msgspec.Struct, array_like=True, frozen=True):
    """Up to `mark`, only the rows of these ids are other programs'."""

    mark: int
    guard: str
    known: list[str] = []


def looked(setting: SettingRow | None) -> Looked | None:
    """None: nobody has looked, or not here."""
    try:
        found = msgspec.json.decode(setting.value, type=Looked) if setting else None
    except msgspec.DecodeError:
        return None
    if found is None or setting is None or setting.writer is None:
        return found
    is_of_here = str(int(found.guard) % 2**32) == setting.writer if found.guard.isdecimal() else False
    return found if is_of_here and 0 <= (setting.age or 0) < _OLDEST else None


def find(tx: Tx, looked: Looked | None, limit: int) -> list[MessageRow]:
    if looked is None or not _holds(tx, looked):
        return records.loose_everywhere.all(tx, limit=limit)
    known = records.loose_among.all(tx, ids=several(looked.known)) if looked.known else []
    mark = looked.mark if tx.words == "fts5" else str(looked.mark % 2**32)
    return [*records.loose_since.all(tx, mark=mark, limit=limit), *known][:limit]


def _holds(tx: Tx, looked: Looked) -> bool:
    if tx.words != "fts5":
        return True  # its own row told
    row = records.message_at.one(tx, number=looked.mark)
    return row is not None and row.id == looked.guard


def newest(tx: Tx, before: Looked | None) -> Looked | None:
    """How far there is nothing more to find; None: no further than before. The mark comes first: what is seen then has
    all that is below it."""
    now = records.newest_arrival.one(tx)
    if now is None or now.mark is None or (before is not None and now == (before.mark, before.guard)):
        return None
    found = find(tx, before, _MOST_KNOWN + 1)
    if len(found) > _MOST_KNOWN or not isinstance(now.guard, str):
        return None
    return Looked(now.mark, now.guard, [row.id for row in found if isinstance(row.id, str)])
