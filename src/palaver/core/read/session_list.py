"""A page of the list of sessions, newest first, from the index that fits what is asked for; no part is touched.

Every list has one driver: a parent, a fact, an agent, a workspace, or time alone. What else is asked for is checked on
each row. Of several facts the one that the fewest have is the driver.
"""

from __future__ import annotations

from typing import NamedTuple

from ...base import arguments
from ...db.engine import Tx
from ...db.queries import Q, Query
from ...errors import BadValue
from ...model import Page, SessionInfo
from ..session_facts import MOST_IN_A_LIST
from .sessions import as_info, resolve

_FAR = 2**62
_FEW = 1_000  # sessions that are sorted; of more, the list by update is walked
_PLACES = "abcdefghijkl"  # of facts in a statement
assert len(_PLACES) == MOST_IN_A_LIST
_NOWHERE: dict[str, str | None] = {f"{column}_{place}": None for place in _PLACES for column in ("name", "value")}

Fact = tuple[str, str]


class Which(NamedTuple):
    """Archived ones too; those that were deleted, and no others; those in which a turn waits for an answer; those that
    were said to be over; those in which nothing was said since a time."""

    archived: bool = False
    deleted: bool = False
    waiting: bool = False
    ended: bool = False
    idle_since: int | None = None


class Wanted(NamedTuple):
    """What a caller asked for. `order` is None where the list decides: by creation, if facts are asked for."""

    agent: str | None
    workspace: str | None
    parent: str | None
    which: Which
    facts: list[Fact]
    order: str | None
    limit: int

    @property
    def is_by_creation(self) -> bool:
        return self.order == "created" or (self.order is None and bool(self.facts))

    @property
    def cursor_kind(self) -> str:
        """A cursor is good for lists of its kind: those whose rows come in the same order."""
        if self.which.deleted:
            return "deleted"
        if not self.is_by_creation:
            return "updated"
        return "fact" if self.facts else "created"


def page(tx: Tx, wanted: Wanted, after: str | None) -> Page:
    if wanted.order not in (None, "updated", "created"):
        raise BadValue(f"order is 'updated' or 'created', not {arguments.shown(wanted.order)}")
    if wanted.parent is not None:
        wanted = wanted._replace(parent=resolve(tx, wanted.parent) or wanted.parent)
    before_at, before_id = _read_cursor(after, wanted.cursor_kind) if after else (tx.far, "")
    query, driver, others = _way(tx, wanted)
    name, value = driver or (None, None)
    listed = tx.all(
        query,
        agent=wanted.agent,
        workspace=wanted.workspace,
        parent=wanted.parent,
        archived=int(wanted.which.archived),
        waiting=int(wanted.which.waiting),
        ended=int(wanted.which.ended),
        idle_since=wanted.which.idle_since,
        before_at=before_at,
        before_id=before_id,
        limit=wanted.limit + 1,
        name=name,
        value=value,
        **_in_places(others),
    )
    found = [as_info(row) for row in listed[: wanted.limit]]
    return Page(found, _cursor(found[-1], wanted) if len(listed) > wanted.limit else None)


def _way(tx: Tx, wanted: Wanted) -> tuple[Query, Fact | None, list[Fact]]:
    """The statement, the fact that drives it (if one does), and those that each row must have beside it."""
    if wanted.which.deleted:
        return Q.list_deleted, None, wanted.facts
    if wanted.parent is not None:
        return (Q.list_by_parent_created if wanted.is_by_creation else Q.list_by_parent), None, wanted.facts
    if wanted.facts:
        return _by_facts(tx, wanted)
    if wanted.is_by_creation:
        return Q.list_created, None, []
    if wanted.agent is not None:
        return Q.list_by_agent, None, []
    return (Q.list_recent if wanted.workspace is None else Q.list_by_workspace), None, []


def _by_facts(tx: Tx, wanted: Wanted) -> tuple[Query, Fact | None, list[Fact]]:
    if wanted.is_by_creation and len(wanted.facts) == 1:
        return Q.list_by_fact, wanted.facts[0], []
    counts = {fact: _count(tx, fact) for fact in wanted.facts}
    rarest, *others = sorted(wanted.facts, key=counts.__getitem__)
    if wanted.is_by_creation:
        return Q.list_by_fact, rarest, others
    if counts[rarest] < _FEW:
        return Q.list_by_fact_updated, rarest, others
    return Q.list_updated_with_facts, None, wanted.facts


def _count(tx: Tx, fact: Fact) -> int:
    """How many sessions have it; more than a few are all the same."""
    name, value = fact
    ((count,),) = tx.all(Q.count_fact, name=name, value=value, most=_FEW)
    return int(count)


def _in_places(facts: list[Fact]) -> dict[str, str | None]:
    """As the statements name them; places that are left over are empty."""
    given = _NOWHERE.copy()
    for place, (name, value) in zip(_PLACES, facts, strict=False):
        given[f"name_{place}"], given[f"value_{place}"] = name, value
    return given


# ---------------------------------------------------------------- cursors


def _cursor(last: SessionInfo, wanted: Wanted) -> str:
    from base64 import urlsafe_b64encode  # when there is a page more: most lists end before

    times = {"updated": last.updated_at, "deleted": last.deleted_at}
    at = times.get(wanted.cursor_kind, last.created_at)
    at = at or _FAR - 1  # what is no time sorts before all that have one
    return urlsafe_b64encode(f"{wanted.cursor_kind} {at} {last.id}".encode()).decode()


def _read_cursor(text: str, expected: str) -> tuple[int, str]:
    from base64 import b64decode

    try:
        kind, at, session_id = b64decode(text, altchars=b"-_", validate=True).decode().split(" ", 2)
        if kind != expected or not session_id or not 0 <= int(at) < _FAR:
            raise ValueError
        return int(at), session_id
    except ValueError:
        raise BadValue(f"{arguments.shown(text)} is not a cursor; take the one of the page before") from None
