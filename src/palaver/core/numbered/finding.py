"""Finding rows: what a search finds of a store, as rows with numbers, and the messages around each.

Neither titles nor what was thought count here, and what a query excludes is looked for in the text of the row alone.
"""

from __future__ import annotations

from collections.abc import Sequence
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


class FoundMessage(NamedTuple):
    """A message as it was read for a search: its parts are decoded."""

    id: str
    role: str
    metadata: dict[str, Any]
    created_at: int
    part_ids: list[str | None]
    parts: list[dict[str, Any]]


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
    ahead = looked.search.ahead
    around = Shown(tx, query.tree, ahead).around(looked.found)
    refs = [_ref(one) for one in looked.found]
    known = {row.ref: row for some in in_chunks(filter(None, refs)) for row in records.numbers_of.all(tx, **some)}
    found = []
    for one, ref, (before, behind) in zip(looked.found, refs, around, strict=True):
        given = known.get(ref or "")
        number, stamp = (None, None) if given is None else (given.number, given.stamp)
        found.append(
            FoundRow(
                one.seen.session.id,
                _own(one),
                one.document.place if one.document.role == TOOL and one.document.place >= 0 else None,
                number,
                stamp,
                snippet(query.tree, one.document.text),
                _message(ahead, before),
                _message(ahead, behind),
            )
        )
    return Page(found, looked.following, looked.search.tail.through is not None)


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
