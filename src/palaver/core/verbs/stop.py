"""Stopping a turn, whoever writes it: it is sealed as aborted with all that is on disk, and its writer learns it."""

from __future__ import annotations

from ...db.engine import Tx
from ...errors import TurnNotFound
from .. import heads, rows
from ..facts import TurnFacts
from ..read.heads import Head
from ..rows import OpenTurnRow
from ..runtime import Runtime
from ..settle import preflight, recovery
from ..turn import open_turn


def stop(tx: Tx, runtime: Runtime, session_id: str, turn_id: str | None, reason: str) -> list[str]:
    """Seal a turn, or every live or waiting one that stands on the head; which. The first lands on the path, others
    become strays. A turn that is sealed already is refused by name."""
    head = heads.lock(tx, session_id, timestamps=0)
    heads.refuse_gone(head)
    preflight.refuse_closed(head)
    standing = [turn for turn in rows.open_turns.all(tx, session=session_id) if turn.status != "pending"]
    if turn_id is None:
        chosen = [turn for turn in standing if turn.base_revision == head.revision]
    else:
        chosen = [turn for turn in standing if turn.id == turn_id]
        if not chosen:
            raise _refusal(tx, session_id, turn_id)
    for turn in chosen:
        with recovery.naming(session_id, turn.id, turn.fence):
            head = _stop(tx, head, turn, reason)
    return [turn.id for turn in chosen]


def _stop(tx: Tx, head: Head, turn: OpenTurnRow, reason: str) -> Head:
    facts: TurnFacts = {"abort_reason": reason, "stopped": reason}
    if turn.base_revision != head.revision:
        return recovery.abandon(tx, head, turn.id, "aborted", facts=facts)
    return recovery.finish(tx, head, turn.id, "aborted", kind="stop", reason=reason, facts=facts)


def _refusal(tx: Tx, session_id: str, turn_id: str) -> Exception:
    row = rows.turn.one(tx, turn=turn_id)
    if row is None or row.session_id != session_id or row.base_revision < 0:
        return TurnNotFound(turn_id, "session.live() and waiting() list what can be stopped")
    return open_turn.sealed_error(tx, turn_id)
