"""Rebuilding one session of a journaled store, or all: each in a transaction of its own, by way of an empty store."""

from __future__ import annotations

from collections.abc import Callable

from ...db.engine import Database
from ...model import Problem
from . import journal, rebuild


def rebuild_sessions(
    db: Database, session_id: str | None, scratch: Callable[[], Database], *, fix: bool
) -> list[Problem]:
    """What was missing or said something else. `db` is the engine itself: what is put right is no line of the journal.
    `scratch` makes an empty store to carry a journal out in."""
    with db.read() as tx:
        wanted = rebuild.sessions(tx) if session_id is None else [rebuild.named(tx, session_id)]
    return [problem for each in wanted for problem in _rebuild(db, each, scratch(), fix=fix)]


def _rebuild(db: Database, session_id: str, scratch: Database, *, fix: bool) -> list[Problem]:
    try:
        with db.write(hard=True) if fix else db.read() as tx:
            problem = rebuild.replay(tx, session_id, scratch, journal.LOGGED)
            with scratch.read() as made:
                return [problem] if problem else list(rebuild.compare(tx, session_id, made, fix=fix))
    finally:
        scratch.close()
