"""Titles that count up: "X", "X #2", "X #3" … are one lineage of titles. Whoever begins a session that goes on with
another may call it the next one, and whoever asks for "X" gets the newest.

Titles are free, so a lineage may have gaps, and several sessions of one title. Everything is found by the index of
titles, in which the numbers of a lineage stand side by side: what it costs is how long the lineage is. Deleted
sessions do not count, archived ones do.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ...db.engine import Tx
from ...errors import SessionNotFound
from .. import rows

_NUMBERED = re.compile(r"(?P<base>.+) #(?P<number>[1-9][0-9]*)", re.DOTALL)


class Titled(NamedTuple):
    """A title, taken apart: a title without a number is the first of its lineage."""

    base: str
    number: int = 1

    @classmethod
    def of(cls, title: str) -> Titled:
        """ "X #1" and "X #02" are no numbers that were counted up to, but titles like any other."""
        found = _NUMBERED.fullmatch(title)
        return cls(found["base"], int(found["number"])) if found and found["number"] != "1" else cls(title)


def following(tx: Tx, title: str) -> str:
    """The title after the highest of a lineage; the plain one, if nothing of the lineage is there."""
    base = Titled.of(title).base
    last = _last(tx, base)
    return base if last is None else f"{base} #{Titled.of(last.title).number + 1}"


def newest(tx: Tx, title: str) -> str:
    """The session that a title means: of a title with a number just that one, else the highest of its lineage. Of
    several that have the same title, the one that was made last."""
    base, number = Titled.of(title)
    found = rows.newest_titled.one(tx, title=title) if number > 1 else _last(tx, title)
    if found is not None:
        return found.session_id
    other = _last(tx, base) if number > 1 else None
    hint = f"; the newest of its lineage is {other.title!r}" if other else ""
    raise SessionNotFound(title, sentence=f"no session has the title {title!r}{hint or '; list() shows what there is'}")


def _last(tx: Tx, base: str) -> rows.TitledRow | None:
    """The one with the highest number; the plain title is lower than all of them."""
    first = f"{base} #1"  # not a number of the lineage itself; all of them stand after it, and before a colon
    numbered = rows.highest_of_lineage.one(tx, first=first, past=f"{base} #:")
    return numbered or rows.newest_titled.one(tx, title=base)
