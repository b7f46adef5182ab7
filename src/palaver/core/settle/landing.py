"""The seal of an open turn by its writer: the head moves to it, or it loses the race and becomes a stray."""

from __future__ import annotations

from ...base.clock import now_ms
from ...db.engine import Tx
from ...errors import StoreUnavailable
from .. import heads
from ..foreign import adopt, hidden_stamps
from ..head_cache import CachedHead
from ..runtime import Runtime
from ..turn import seal
from ..turn.open_turn import OpenTurn


def land(tx: Tx, runtime: Runtime, turn: OpenTurn, status: str, newest: int | None = None) -> CachedHead | None:
    """Seal a turn and move the head to it; what the caller caches once that is committed. None: somebody else moved the
    head first, and nothing was written. `newest` is the number of the last event that the turn's writer knows."""
    moved = heads.seal(tx, turn.session_id, turn.id, expected=turn.base_revision, fence=turn.fence)
    if moved is None:
        return None
    if newest is not None and moved.head.event_seq <= newest:
        raise chunks_are_gone(turn.id)
    sealed = seal.freeze(tx, turn, status, adopt.scan(tx, moved.head, runtime.scans))
    seal.touch(tx, turn.session_id, turn.facts, now_ms())
    link = moved.log(tx, "seal")
    if moved.head.open_turns > 1:
        hidden_stamps.hide_open_turns(tx, moved.head)
    return CachedHead(turn.id, moved.head.event_seq, link, sealed.thread)


def drift(tx: Tx, turn: OpenTurn, status: str) -> None:
    """The race is lost: keep the work as a stray."""
    head = heads.lock(tx, turn.session_id, timestamps=0)
    sealed = seal.freeze(tx, turn, status)
    seal.mark_stray(tx, head, sealed.id, sealed.begin_seq, sealed.status)


def chunks_are_gone(turn_id: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"the newest chunks of turn {turn_id} are not in the store any more: a server that crashed lost them, or "
        "another program changed the session's numbers (`palaver verify` looks); send them with at=n"
    )
