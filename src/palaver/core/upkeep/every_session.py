"""What is done in every session that needs it: dead writers' turns are sealed, rows of other programs become turns.

Each session has a transaction of its own, so that a writer waits for one session at most, and one that cannot be
settled does not take back what was done in the others. These functions take the database, not a transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from ...db.engine import Database, Tx
from ...errors import TurnUnsealable
from .. import rows, verbs
from ..runtime import Runtime
from . import owners

T = TypeVar("T")


def recover(db: Database, runtime: Runtime) -> int:
    """Seal what dead writers left open; how many sessions had some."""
    with db.read() as tx:
        found = {turn.session_id for turn in owners.abandoned(tx, runtime.is_dead)}
    for session_id in sorted(found):
        _in(db, partial(verbs.preflight.settle_dead, runtime=runtime, session_id=session_id))
    return len(found)


def _in(db: Database, work: Callable[[Tx], T]) -> T:
    """One session. A turn that cannot be sealed stops neither the others nor whoever opens the store."""
    while True:
        try:
            with db.write(hard=True) as tx:
                return work(tx)
        except TurnUnsealable as stuck:
            set_aside(db, stuck)


def set_aside(db: Database, stuck: TurnUnsealable) -> None:
    """Close a turn that cannot be sealed, off every path."""
    with db.write(hard=True) as tx:
        verbs.recovery.set_aside(tx, stuck)


def adopt(db: Database, runtime: Runtime) -> int:
    """Look everywhere for rows of other programs and make them turns; how many sessions had some."""
    with db.read() as tx:
        found = [row.session_id for row in rows.sessions_with_loose_rows.all(tx)]
    moved = 0
    for session_id in found:
        settle = partial(verbs.preflight.settle_open, runtime=runtime, session_id=session_id, everywhere=True)
        moved += _in(db, settle)
    return moved
