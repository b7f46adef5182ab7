"""Reading a whole store in windows: so many rows from a key on, then from the last one on.

No statement takes long, however large the store is, and no answer holds more than a window. Large values are left out,
and read one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from ...db.engine import Tx
from ...db.queries import Q
from ..rows import R, Select

ROWS, TURNS, SESSIONS = 500, 200, 50  # in a window; two at least
INLINE = 8 << 10  # bytes of a value that is read with others; what is larger is read alone
BEFORE_ALL = -(1 << 62)  # a time, a number
LINE, FIELD = "\x1e", "\x1f"


def pages(tx: Tx, select: Select[R], size: int, *, key: str = "id", **given: Any) -> Iterator[list[R]]:
    """A table by its key, window by window. Each begins with the last key of the one before: so none is too small."""
    key_of, after, seen = attrgetter(key), "", None
    while True:
        found = select.all(tx, after=after, limit=size, **given)
        yield [row for row in found if key_of(row) != seen]
        if len(found) < size:
            return
        after = seen = key_of(found[-1])


Listing = list[tuple[str, int]]  # the lines that list a message: turn and number


def listing(tx: Tx, message_id: str, text: str | None) -> Listing:
    """From the text that the engine made of them. An id of another program may have our separators in it."""
    fields = [line.split(FIELD) for line in text.split(LINE)] if text else []
    if all(len(each) == 2 for each in fields):
        return sorted((turn_id, _number(seq)) for turn_id, seq in fields)
    return sorted((turn_id, _number(seq)) for turn_id, seq in tx.all(Q.lines_that_list, message=message_id))


def _number(seq: str | int) -> int:
    """Of a line; what is none counts as the first, and does not fit its digest."""
    try:
        return int(seq)
    except ValueError:
        return 0


def with_lines() -> dict[str, Any]:
    """How a window of rows with the lines that list them is asked for."""
    return {"limit": ROWS, "inline": INLINE, "line": LINE, "field": FIELD}
