"""Facts of sessions, written: with a new one, from the one it came from, and by a change.

A row has the session's own created_at, so that a list by a fact goes by creation, and no append touches the rows.
"""

from __future__ import annotations

from ...db.engine import Tx
from ...db.queries import Q
from ..session_facts import Facts

_INHERITS = ("fork", "spawn", "continue")


def begin(tx: Tx, session_id: str, at: int, facts: Facts, *, relation: str, origin: str | None) -> None:
    """Those of a new session: what it has from its origin, and what was given on top. One that continues another takes
    over everything, also its task and where messages are routed."""
    inherits = origin is not None and relation in _INHERITS
    if inherits:
        tx.defer(Q.inherit_facts, origin=origin, session=session_id, at=at, goes_on=int(relation == "continue"))
    change(tx, session_id, at, facts, replacing=inherits)


def change(tx: Tx, session_id: str, at: int, facts: Facts, *, replacing: bool = True) -> None:
    """`at` is the session's created_at; None takes a fact away."""
    for name, value in facts.items():
        if replacing:
            tx.defer(Q.drop_fact, session=session_id, name=name)
        if value is not None:
            tx.defer(Q.put_fact, session=session_id, name=name, value=value, at=at)
