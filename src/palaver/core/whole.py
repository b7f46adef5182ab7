"""A turn that comes whole: written, sealed and on the path in one transaction, or nothing at all.

Mostly nothing is in the way, and one statement is lock, clock, compare-and-swap and move at once. If something is
(open turns, rows of another program, an archive, a conflict), the transaction starts again the careful way.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import ids
from ..db.database import Tx
from ..db.queries import Q
from ..model import TurnInfo, Usage
from . import heads, loose, prelude, previews, sealing, turns, visibility
from .heads import Head
from .prelude import Room
from .rows import NewMessage
from .turns import Entry, OpenTurn

_RESOLVED = {None, "output-available", "output-error", "output-denied"}


class InTheWay(Exception):
    """Something needs a closer look; nothing of this transaction may stay."""


class Whole(NamedTuple):
    session_id: str
    messages: list[NewMessage]
    expected: int | None
    facts: dict[str, Any]
    preview: str | None


def commit_fast(tx: Tx, room: Room, given: Whole) -> TurnInfo:
    turn_id, stamps = ids.mint(ids.TURN), len(given.messages)
    moved = heads.advance(tx, given.session_id, turn_id, expected=given.expected, stamps=stamps, preview=given.preview)
    if moved is None or loose.look(tx, moved.head, room.looks):
        raise InTheWay
    head = moved.head._replace(revision=moved.head.revision - 1)
    turn = _write(tx, head, given, [], parent_id=moved.parent_id, turn_id=turn_id)
    sealing.touch(tx, turn)
    heads.log_advance(tx, moved, kind="seal")
    return _info(turn)


def commit_carefully(tx: Tx, room: Room, given: Whole) -> TurnInfo:
    head = prelude.ready(
        tx,
        room,
        given.session_id,
        expected=given.expected,
        stamps=len(given.messages),
        preview=given.preview,
        moving_on=True,
    )
    beside = loose.find(tx, given.session_id, max(0, head.looked_at - loose.MARGIN_MS)) if head.open_turns else []
    lines = [line for message in beside for line in loose.lines_of(tx, message)]
    turn = _write(tx, head, given, lines, parent_id=head.turn_id, counted=loose.usage_of(beside))
    head = sealing.land(tx, head, turn, kind="seal")
    if beside:
        tx.later(Q.set_preview, session=given.session_id, preview=previews.recompute(tx, given.session_id))
    if head.open_turns:
        visibility.hide_open_turns(tx, head)
    return _info(turn)


def _write(
    tx: Tx,
    head: Head,
    given: Whole,
    lines: list[Entry],
    *,
    parent_id: str | None,
    turn_id: str | None = None,
    counted: Usage = turns.NOTHING,
) -> OpenTurn:
    return sealing.commit(
        tx,
        head,
        lines,
        given.messages,
        parent_id=parent_id,
        turn_id=turn_id,
        facts=given.facts,
        status=_status(given.messages),
        counted=counted,
    )


def _status(prepared: list[NewMessage]) -> str:
    """A turn is not completed while a tool call in it has no result."""
    resolved = all(part.tool_state in _RESOLVED for message in prepared for part in message.parts)
    return "completed" if resolved else "aborted"


def _info(turn: OpenTurn) -> TurnInfo:
    return TurnInfo(
        id=turn.id,
        parent_id=turn.parent_id,
        session_id=turn.session_id,
        kind=turn.kind,
        status=turn.status,
        base_revision=turn.base_revision,
        depth=turn.thread.depth + 1,
        started_at=turn.at,
        sealed_at=turn.at,
        digest=turn.digest,
        response_id=turn.response_id,
        usage=turn.usage,
        cost_usd=turn.cost,
        thread_tokens=turn.thread.tokens + turn.usage.total,
        thread_messages=turn.thread.messages + turn.messages,
    )
