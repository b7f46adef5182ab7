"""Pruning: old tool outputs that a model need not see again. A stamp beside the part; the part is never rewritten."""

from __future__ import annotations

from ...base import arguments
from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import BadValue, NotOnPath, TurnNotFound
from ..heads import Head
from ..turn import open_turn
from . import compaction


def prune(tx: Tx, head: Head, before: str | None, keep: int | None) -> int:
    """Stamp the tool outputs of turns before one, or of all but the last few; how many."""
    order = [row[0] for row in tx.all(Q.path_kinds, turn=head.turn_id) if row[1] != compaction.KIND]
    count = 0
    for turn_id in order[: _end(tx, head, order, before, keep)]:
        for (part_id,) in tx.all(Q.prunable_parts, turn=turn_id):
            count += tx.run(Q.prune_part, part=part_id, session=head.session_id, at=now_ms())
    if count:
        open_turn.record_event(tx, head, "prune", None, {"parts": count})
    return count


def _end(tx: Tx, head: Head, order: list[str], before: str | None, keep: int | None) -> int:
    if (before is None) == (keep is None):
        raise BadValue("prune needs either `before`, a turn, or `keep`, how many of the last turns stay whole")
    if keep is not None:
        if type(keep) is not int or keep < 0:
            raise BadValue(f"keep is how many of the last turns stay whole, not {arguments.shown(keep)}")
        return max(0, len(order) - keep)
    assert before is not None
    if before not in order:
        if tx.one(Q.parent_of, turn=before) is None:
            raise TurnNotFound(before)
        raise NotOnPath(before, head.session_id)
    return order.index(before)
