"""Reading numbered rows: the messages of a session with the numbers that they have, and sessions as rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...db.engine import Tx
from .. import damage, rows
from ..read import sessions, transcript
from ..read.transcript import Message
from ..search.ahead import in_chunks
from . import records
from .records import NumberRow, SummaryRow

_LAST = "\U0010ffff"  # sorts after whatever a name goes on with


class Spot(NamedTuple):
    """Where a row is in a message: a step that begins with a part, or the result of the call that is one."""

    place: int
    is_result: bool


FIRST = Spot(0, False)
Spots = Callable[[Message], list[Spot]]  # where in a message there are rows beside the first


class NumberedRow(NamedTuple):
    """A message or a further step of it, or a result. Without a number, it has none yet."""

    message: Message
    spot: Spot
    number: int | None
    stamp: float | None

    @property
    def ref(self) -> str:
        if self.spot is FIRST:
            return self.message.id
        part_id = self.message.part_ids[self.spot.place]
        return part_id if self.spot.is_result else f"{part_id}/step"

    @property
    def place_in_message(self) -> tuple[str, int | None] | None:
        """Of a message's first row, or of a result with the place of its part; a further step has none."""
        if self.spot.is_result:
            return self.message.id, self.spot.place
        return (self.message.id, None) if self.spot is FIRST else None


def of_session(tx: Tx, session_id: str, spots: Spots) -> list[NumberedRow]:
    """The rows of a transcript, in its order; results in the order in which they were numbered."""
    messages = transcript.read(tx, session_id)
    for message in messages:
        if len(message.part_ids) != len(message.parts):  # of an open turn, which is read from its chunks
            message.part_ids = [part.id for part in rows.parts.all(tx, message=message.id)]
    known = {row.ref: NumberRow(row.number, row.stamp) for row in records.numbers_at_home.all(tx, session=session_id)}
    return [row for message in messages for row in _of_message(tx, message, spots, known)]


def stamps(tx: Tx, session_id: str) -> dict[str, float]:
    """When the rows were written that a session is home of, where that was noted."""
    found = records.numbers_at_home.all(tx, session=session_id)
    return {row.ref: row.stamp for row in found if row.stamp is not None}


def _of_message(tx: Tx, message: Message, spots: Spots, known: dict[str, NumberRow]) -> list[NumberedRow]:
    there = [spot for spot in spots(message) if spot.place < len(message.part_ids)]
    found = [_numbered(tx, message, spot, known) for spot in [FIRST, *there]]
    by_number = itertools.groupby(found, key=lambda row: row.spot.is_result)
    return [row for is_result, run in by_number for row in (sorted(run, key=_when) if is_result else run)]


def _when(row: NumberedRow) -> tuple[bool, int]:
    return row.number is None, row.number or 0


def _numbered(tx: Tx, message: Message, spot: Spot, known: dict[str, NumberRow]) -> NumberedRow:
    row = NumberedRow(message, spot, None, None)
    given = known.get(row.ref) or records.number_of.one(tx, ref=row.ref)
    return row if given is None else row._replace(number=given.number, stamp=given.stamp)


# ---------------------------------------------------------------- sessions


def named(tx: Tx, name: str) -> str:
    """Our id of a session by what the application calls it, or else by ours. The application's name comes first: it may
    have been given again after the session that had it was deleted."""
    origin, scope = sessions.CLIENT
    row = rows.foreign_id.one(tx, origin=origin, scope=scope, foreign=name)
    return row.id if row else name


def living(tx: Tx, name: str) -> str | None:
    """The same of a session that is there and was not deleted; None if there is none."""
    found = named(tx, name)
    stamps = rows.session_stamps.one(tx, session=found)
    return found if stamps is not None and stamps.deleted_at is None else None


def beginning(tx: Tx, prefix: str) -> list[str]:
    """Living sessions whose name begins so; two are enough to know that it is not clear."""
    return [row.session_id for row in records.sessions_beginning.all(tx, first=prefix, past=prefix + _LAST)]


def titled(tx: Tx, base: str) -> list[records.TitledRow]:
    """Living sessions with a title, and those whose title goes on with a number sign, the newest first."""
    found = records.titled.all(tx, title=base, first=f"{base} #", past=f"{base} $")
    return sorted(found, key=lambda row: (row.created_at, row.session_id), reverse=True)


def listed(tx: Tx, *, source: str | None, roots: bool, size: int) -> Iterator[SummaryRow]:
    """Living sessions, the last begun first."""
    at, name = tx.far, ""
    select = records.summaries if source is None else records.summaries_by_source
    about = {"roots": int(roots)} | ({} if source is None else {"source": source})
    while True:
        page = select.all(tx, before_at=at, before_id=name, limit=size, **about)
        yield from page
        if len(page) < size:
            return
        at, name = page[-1].created_at, page[-1].id


def first_words(tx: Tx, session_ids: list[str]) -> dict[str, str]:
    """What the user said first in sessions, as it was said."""
    found = [row for some in in_chunks(session_ids) for row in records.first_said.all(tx, **some)]
    parts = {row.session_id: damage.parsed(row.data_json) for row in found if row.data_json is not None}
    texts = {name: part.get("text") for name, part in parts.items() if isinstance(part, dict)}
    return {name: text for name, text in texts.items() if isinstance(text, str)}


def summary(tx: Tx, session_id: str) -> SummaryRow | None:
    return records.summary_of.one(tx, session=session_id)


def open_rows(tx: Tx, session_id: str) -> records.OpenRow | None:
    return records.open_rows.one(tx, session=session_id)


def children(tx: Tx, session_id: str) -> list[SummaryRow]:
    """What came from a session, the last begun first."""
    return records.summaries_of_children.all(tx, parent=session_id)


def count_sessions(tx: Tx, source: str | None) -> int:
    (row,) = records.count_sessions.all(tx, source=source)
    return row.sessions


def count(tx: Tx) -> tuple[int, list[str]]:
    """How many rows all sessions have, but for those whose rows have to be read for that; which these are."""
    (row,) = records.count_rows.all(tx)
    return row.found, [each.session_id for each in records.irregular_sessions.all(tx)]
