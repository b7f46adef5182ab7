"""Where sessions came from, and what came from them. Walked step by step, however deep; a circle, which only another
program can make, ends a walk."""

from __future__ import annotations

from typing import NamedTuple

from ...db.engine import Tx
from ...db.queries import Q
from .. import rows
from .sessions import require


class Relative(NamedTuple):
    """A session of a tree: the one it came from there (None: the eldest), and how many stand above it."""

    session_id: str
    origin_id: str | None
    level: int


def ancestors(tx: Tx, session_id: str) -> list[str]:
    """Where a session came from, nearest first."""
    found: dict[str, None] = {session_id: None}
    at: str | None = session_id
    while at is not None:
        row = tx.one(Q.origin_of, session=at)
        (origin,) = row or (None,)
        at = origin if origin not in found else None
        if at is not None:
            found[at] = None
    return list(found)[1:]


def descendants(tx: Tx, session_id: str) -> list[str]:
    """What came from a session, nearest first: none stands before one it came from."""
    found: dict[str, None] = {session_id: None}
    queue = [session_id]
    for at in queue:
        new = [session for session in _offspring(tx, at) if session not in found]
        found.update(dict.fromkeys(new))
        queue.extend(new)
    return list(found)[1:]


def _offspring(tx: Tx, session_id: str) -> list[str]:
    return [session for (session,) in tx.all(Q.offspring_of, parent=session_id)]


def tree(tx: Tx, session_id: str) -> list[Relative]:
    """A session below all it came from, and above all that came from it: each before those that came from it."""
    line = [*reversed(ancestors(tx, session_id)), session_id]
    origins = (None, *line)
    found = {each: Relative(each, origins[level], level) for level, each in enumerate(line)}
    stack = [found.pop(session_id)]
    while stack:
        at = stack.pop()
        if at.session_id not in found:
            found[at.session_id] = at
            below = _offspring(tx, at.session_id)
            stack += [Relative(each, at.session_id, at.level + 1) for each in reversed(below)]
    return list(found.values())


def tip(tx: Tx, session_id: str) -> str:
    """The session in which this one goes on: the end of the chain of those that continue it, of several always the
    newest. A deleted one is not where it goes on, but what continues it may be; if nothing does, the next newest
    counts."""
    require(tx, session_id)
    found, stack, seen = session_id, rows.continuations_of.all(tx, session=session_id), {session_id}
    while stack:
        at = stack.pop()  # the newest
        if at.session_id in seen:
            continue
        seen.add(at.session_id)
        if at.deleted_at is None:
            found = at.session_id
            stack.clear()  # whatever else continued those before it is older
        stack += rows.continuations_of.all(tx, session=at.session_id)
    return found


def living_subtree(tx: Tx, session_id: str) -> list[str]:
    """A session and what came from it, but for those that were deleted; what came from one stands before it."""
    require(tx, session_id)
    family = [session_id, *descendants(tx, session_id)]
    return [each for each in reversed(family) if _is_living(tx, each)]


def _is_living(tx: Tx, session_id: str) -> bool:
    """Its row is there, and it was not deleted."""
    stamps = rows.session_stamps.one(tx, session=session_id)
    return stamps is not None and stamps.deleted_at is None
