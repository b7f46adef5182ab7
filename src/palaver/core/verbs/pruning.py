"""Pruning: old tool outputs that a model need not see again. A stamp beside the part; the part is never rewritten."""

from __future__ import annotations

from ...base import arguments
from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import BadValue, NotOnPath, TurnNotFound
from .. import rows
from ..read import summaries
from ..read.heads import Head
from ..runtime import Runtime
from ..settle import preflight
from ..turn import open_turn


def prune(tx: Tx, runtime: Runtime, session_id: str, before: str | None, keep: int | None) -> int:
    """Stamp the tool outputs of turns before one, or of all but the last few; how many."""
    head = preflight.ready(tx, runtime, session_id, timestamps=0)
    order = [turn.id for turn in rows.path_kinds.all(tx, turn=head.turn_id) if turn.kind != summaries.KIND]
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
        if rows.parent_of.one(tx, turn=before) is None:
            raise TurnNotFound(before)
        raise NotOnPath(before, head.session_id)
    return order.index(before)
