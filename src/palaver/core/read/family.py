"""The relatives of a session: what came from it, what it came from, and what else came from there.

They share turns: the head of a fork may stand on a turn of the session it was forked from, and the other way round.
"""

from __future__ import annotations

from ...db.engine import Tx
from ...errors import SessionNotFound
from .. import rows
from ..rows import ChildRow
from . import lineage, sessions


def children(tx: Tx, session_id: str) -> list[ChildRow]:
    """Those that came from it directly, oldest first."""
    return rows.children_of.all(tx, session=session_id)


def relatives(tx: Tx, session_id: str) -> list[ChildRow]:
    """All of them, but not the session itself; nearest to the eldest first."""
    eldest = (lineage.ancestors(tx, session_id) or [session_id])[-1]
    found = {one.session_id: one for one in _of(tx, eldest)}
    queue = [eldest]
    for at in queue:
        new = {child.session_id: child for child in children(tx, at) if child.session_id not in found}
        found.update(new)
        queue.extend(new)
    return [relative for relative in found.values() if relative.session_id != session_id]


def _of(tx: Tx, session_id: str) -> list[ChildRow]:
    """The session itself; none, if it was erased and only its offspring tells of it."""
    try:
        info = sessions.info(tx, session_id)
    except SessionNotFound:
        return []
    head = None if info.deleted_at else info.turn_id
    return [ChildRow(session_id, info.relation, head, None, None, info.agent, info.title, info.preview, info.turns)]
