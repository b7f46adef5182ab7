"""Finding rows: what a search finds of a store, as rows with numbers, and the messages around each.

Neither titles nor what was thought count here, and what a query excludes is looked for in the text of the row alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...base.clock import now_ms
from ...db.engine import Tx
from ...search.documents import TOOL
from ...search.query import parse
from ...search.snippet import Snippet, snippet
from ...search.tree import And, Field, Filter, Node, Or, Query
from .. import damage
from ..search import finding
from ..search.ahead import Ahead, in_chunks
from ..search.fields import Candidate
from ..search.finding import Wanted
from ..search.hits import Shown
from ..search.sums import Checks
from . import records
from .records import NumberedRefRow


class FoundMessage(NamedTuple):
    """A message as it was read for a search: its parts are decoded."""

    id: str
    role: str
    metadata: dict[str, Any]
    created_at: int
    part_ids: list[str | None]
    parts: list[dict[str, Any]]
    numbers: Mapping[str, int] = {}  # of the results in it that have one, by their parts

    def number_at(self, place: int) -> tuple[bool, int]:
        """What results are in order by; those without a number come last."""
        number = self.numbers.get(self.part_ids[place] or "")
        return number is None, number or 0


class Near(NamedTuple):
    """A message, and those before and after it."""

    own: FoundMessage
    before: FoundMessage | None
    behind: FoundMessage | None


class FoundRow(NamedTuple):
    """A row that was found: the message, or the result at one `place` of it, and the messages around it."""

    session_id: str
    message: FoundMessage
    place: int | None
    number: int | None
    stamp: float | None
    snippet: Snippet
    before: FoundMessage | None
    after: FoundMessage | None


class Page(NamedTuple):
    """`is_behind`: the index is, and there is more to be found than was looked at."""

    rows: list[FoundRow]
    next: str | None
    is_behind: bool = False


def asked(typed: str, *, sources: Sequence[str] | None, without: Sequence[str], roles: Sequence[str]) -> Query:
    """What was typed, in sessions of these sources and no others, of these roles."""
    query = parse(typed, now=now_ms())
    nodes: list[Node] = [query.tree] if query.tree is not None else []
    filters = [*query.filters, *(Filter(Field("source", each), negated=True) for each in without)]
    for name, values in (("source", sources or ()), ("role", roles)):
        if len(values) == 1:
            filters.append(Filter(Field(name, values[0])))
        elif values:
            nodes.append(Or(tuple(Field(name, each) for each in values)))
    tree = And(tuple(nodes)) if len(nodes) > 1 else next(iter(nodes), None)
    return Query(None if query.tree is None else tree, tuple(filters), query.cut)


def page(tx: Tx, query: Query, limit: int, after: str | None, checks: Checks) -> Page:
    """The best first."""
    about = {"per_session": False, "archived": True, "hidden": False}  # such dialects know no archive
    wanted = Wanted(repr(query), now_ms(), "rank", limit, **about, query=query, plain=True)
    looked = None if query.tree is None else finding.look(tx, wanted, after, checks)
    if looked is None:
        return Page([], None)
    around = Shown(tx, query.tree, looked.search.ahead).around(looked.found)
    near = [_near(looked.search.ahead, *each) for each in zip(looked.found, around, strict=True)]
    known = _numbers(tx, looked.found, near)
    found = [_row(query, one, known, three) for one, three in zip(looked.found, near, strict=True)]
    return Page(found, looked.following, looked.search.tail.through is not None)


def _near(ahead: Ahead, one: Candidate, around: tuple[str | None, str | None]) -> Near:
    before, behind = around
    return Near(_own(one), _message(ahead, before), _message(ahead, behind))


def _numbers(tx: Tx, found: Sequence[Candidate], near: Sequence[Near]) -> dict[str, NumberedRefRow]:
    """Of the rows that were found, and of the results beside them, which are in order by theirs."""
    refs = dict.fromkeys(ref for one in found if (ref := _ref(one)))
    refs |= dict.fromkeys(part for three in near for each in three if each for part in each.part_ids if part)
    return {row.ref: row for some in in_chunks(refs) for row in records.numbers_of.all(tx, **some)}


def _row(query: Query, one: Candidate, known: Mapping[str, NumberedRefRow], near: Near) -> FoundRow:
    numbers = {ref: row.number for ref, row in known.items()}
    own, before, behind = near
    given, place = known.get(_ref(one) or ""), one.document.place
    return FoundRow(
        session_id=one.seen.session.id,
        message=own._replace(numbers=numbers),
        place=place if one.document.role == TOOL and place >= 0 else None,
        number=None if given is None else given.number,
        stamp=None if given is None else given.stamp,
        snippet=snippet(query.tree, one.document.text),
        before=before and before._replace(numbers=numbers),
        after=behind and behind._replace(numbers=numbers),
    )


def _ref(one: Candidate) -> str | None:
    """What has the number of the row; a result that streams may have nothing yet."""
    return one.stored.id if one.document.place < 0 else one.document.part_id


def _own(one: Candidate) -> FoundMessage:
    stored = one.stored
    return _made(stored.id, stored.role, stored.metadata, stored.at, stored.parts)


def _message(ahead: Ahead, message_id: str | None) -> FoundMessage | None:
    row = None if message_id is None else ahead.message(message_id)
    if row is None:
        return None
    return _made(row.id, row.role, row.metadata_json, row.created_at, ahead.parts(row.id))


def _made(name: str, role: str, metadata: str, at: int, parts: Sequence[tuple[str | None, Any]]) -> FoundMessage:
    about = {} if metadata == "{}" else damage.parsed(metadata)
    about = about if isinstance(about, dict) else {}
    shown = [part if _is_part(part) else {"type": damage.KIND} for _, part in parts]
    return FoundMessage(name, role, about, at, [part_id for part_id, _ in parts], shown)


def _is_part(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("type"), str)
