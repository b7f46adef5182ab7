"""The answer to a call of a turn that waits, from whoever has it: one transaction, and the turn goes on waiting.

Nobody takes the turn up for it, so nothing is lost if whoever answers dies. Its agent resumes it and finds the answer.
"""

from __future__ import annotations

from typing import Any

from ...db.engine import Tx
from ...db.queries import Q
from ...errors import Refused, TurnNotFound, TurnSealed
from ...model import SEALED
from .. import heads, rows
from ..read.heads import Head
from ..runtime import Runtime
from ..settle import landing
from ..turn import open_turn, response
from ..turn.open_turn import OpenTurn


def answer(
    tx: Tx, runtime: Runtime, session_id: str, turn_id: str | None, data: dict[str, Any], finish: bool = False
) -> str:
    """Put a result, or the answer to an approval request, into the turn that waits for it; the turn's id. `finish`: if
    it was the last one that the turn waited for, the turn is sealed with it."""
    head = heads.lock(tx, session_id, timestamps=0)
    heads.refuse_gone(head)
    turn = _waiting(tx, session_id, turn_id, data["tool_call_id"])
    put(tx, runtime, head, turn, data, finish=finish)
    return turn.id


def put(tx: Tx, runtime: Runtime, head: Head, turn: OpenTurn, data: dict[str, Any], *, finish: bool) -> str:
    """The same under the session's lock, into a turn that is known; the part that has the answer."""
    index = turn.fold.resolve(**data)
    open_turn.record_event(tx, head, "resolve", turn.begin_seq, data)
    response.write_part(tx, turn, index)
    tx.defer(Q.set_indexed, turn=turn.id, mark=1)  # what the index has of it is old
    if "approved" not in data:
        turn.add(tx, "result", turn.part_ids[index])
    if finish and not turn.fold.unresolved():
        landed = landing.land(tx, runtime, turn, "completed")
        if landed is None:  # the head has moved on without it
            landing.drift(tx, turn, "completed")
        else:  # if the commit fails, no head stands on it, and the entry is never used
            runtime.head_cache.put(turn.session_id, landed)
    return turn.part_ids[index]


def _waiting(tx: Tx, session_id: str, turn_id: str | None, call_id: str) -> OpenTurn:
    """The turn that is named, or the one in which the call is open."""
    if turn_id is not None:
        turn = open_turn.load(tx, turn_id)
        if turn.session_id != session_id:
            raise TurnNotFound(turn_id, f"it belongs to session {turn.session_id}")
        if turn.status in SEALED:
            raise TurnSealed(turn_id, turn.status)
        if turn.status != "waiting":
            raise Refused(f"turn {turn_id} is {turn.status}: its writer answers its calls")
        return turn
    found = having_open(tx, session_id, call_id)
    if len(found) != 1:
        how_many = "no turn that waits has" if not found else f"{len(found)} turns that wait have"
        raise Refused(f"{how_many} an open tool call {call_id!r:.80}; waiting() lists what waits, name the turn")
    return found[0]


def having_open(tx: Tx, session_id: str, call_id: str) -> list[OpenTurn]:
    """The turns of a session that wait for an answer to a call of this id."""
    waiting = [row.id for row in rows.open_turns.all(tx, session=session_id) if row.status == "waiting"]
    return [turn for turn in (open_turn.load(tx, each) for each in waiting) if turn.fold.is_unresolved(call_id)]
