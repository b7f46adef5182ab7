"""Writing numbered rows: a row is committed, its number handed out in the same transaction.

Numbers rise in the order of a session's commits. A turn that came by another verb may have rows without one: then
`Unnumbered` is raised, the transaction is taken back, and whoever writes numbers the rows first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from .. import heads, rows
from ..read import sessions
from ..runtime import Runtime
from ..settle import preflight
from ..turn.open_turn import OpenTurn
from ..turn.options import TurnOptions
from ..verbs import answer, commit, create, lifecycle, names, unanswered
from ..verbs.commit import WholeTurn
from ..verbs.create import NewSession
from ..verbs.unanswered import UnansweredTurn
from . import reading, records


class Unnumbered(Exception):
    """There are rows before this one that have no number yet."""


class Note(NamedTuple):
    """What is noted of a row: when it was written. `is_sure`: what stands before it was numbered a moment ago; what
    has no number even so (a row that another program took away) gets none, and holds nobody up."""

    stamp: float
    is_sure: bool = False

    def refuse_unnumbered(self, tx: Tx, turn_id: str | None) -> None:
        if not self.is_sure and turn_id is not None and tx.one(Q.unnumbered_of_turn, turn=turn_id) is not None:
            raise Unnumbered


def append(tx: Tx, runtime: Runtime, session_id: str, given: WholeTurn, note: Note, *, carefully: bool = False) -> int:
    """A row that is a message."""
    turn = commit.commit(tx, runtime, session_id, given, carefully=carefully)
    note.refuse_unnumbered(tx, turn.parent_id)
    return _give(tx, given.messages[0].id, note.stamp)


def call(
    tx: Tx, runtime: Runtime, session_id: str, given: UnansweredTurn, note: Note, *, carefully: bool = False
) -> int:
    """A row whose calls wait for their results."""
    turn = unanswered.commit(tx, runtime, session_id, given, carefully=carefully)
    note.refuse_unnumbered(tx, turn.parent_id)
    assert turn.response_id is not None
    return _give(tx, turn.response_id, note.stamp)


def waiting_for(tx: Tx, session_id: str, call_id: str) -> OpenTurn | None:
    """The turn that waits for the result of a call and stands where the session goes on; the newest, if a provider gave
    the id twice."""
    head = heads.lock(tx, session_id, timestamps=0)
    preflight.refuse_closed(head)
    found = [turn for turn in answer.having_open(tx, session_id, call_id) if turn.base_revision == head.revision]
    return found[-1] if found else None


def put_result(tx: Tx, runtime: Runtime, turn: OpenTurn, said: dict[str, Any], note: Note) -> int:
    """A row that is the result of an open call; with the last one the turn is sealed."""
    head = heads.lock(tx, turn.session_id, timestamps=0)  # once more: it reserves the number of the event
    for each in (turn.parent_id, turn.id):
        note.refuse_unnumbered(tx, each)
    tx.defer(Q.note_message, session=turn.session_id, at=now_ms())
    return _give(tx, answer.put(tx, runtime, head, turn, said, finish=True), note.stamp)


def _give(tx: Tx, ref: str, stamp: float | None) -> int:
    row = tx.one(Q.give_number, ref=ref, stamp=stamp)
    if row is None:
        known = records.number_of.one(tx, ref=ref)
        assert known is not None
        return known.number
    (number,) = row
    return int(number)


def number(tx: Tx, _: Runtime, session_id: str, spots: reading.Spots) -> None:
    """Give numbers to those rows of a session that have none, in the order of the transcript."""
    heads.lock(tx, session_id, timestamps=0, events=0)
    found = reading.of_session(tx, session_id, spots)
    for row in found:
        if row.number is None:
            _give(tx, row.ref, None)
    if any(row.spot is not reading.FIRST and not row.spot.is_result for row in found):
        tx.defer(Q.mark_stepped, session=session_id, now=now_ms())


# ---------------------------------------------------------------- sessions


def made(tx: Tx, name: str, new: NewSession) -> str:
    """The session of a name; a new one, if there is none, or the one that had the name was deleted."""
    found = reading.living(tx, name)
    if found is not None:
        return found
    names.hold(tx, name)
    found = reading.living(tx, name)  # somebody else may have been faster
    if found is not None:
        return found
    tx.run(Q.drop_client_id, name=name)
    if rows.session_stamps.one(tx, session=name) is None:
        return create.create(tx, new, name)
    ours, (origin, scope) = create.create(tx, new), sessions.CLIENT  # the name is the id of a deleted one of ours
    tx.run(Q.put_foreign_id, origin=origin, scope=scope, foreign=name, id=ours)
    return ours


def keep_prompt(tx: Tx, text: str) -> str:
    """A system prompt is kept once, by its digest."""
    options = TurnOptions(system_prompt=text)
    options.keep_bodies(tx)
    assert options.digest is not None
    return options.digest


def end(tx: Tx, runtime: Runtime, session_id: str, reason: str | None) -> None:
    """It ends once: the first reason stays."""
    heads.lock(tx, session_id, timestamps=0, events=0)  # others may end it until then
    if sessions.info(tx, session_id).ended_at is None:
        lifecycle.set_ended(tx, runtime, session_id, True, reason)


def set_title(tx: Tx, runtime: Runtime, session_id: str, title: str | None) -> str | None:
    """Set a title that no other living session has; the one that has it, if there is one."""
    if title is not None:
        names.hold(tx, f"title {title}")
        others = [row.session_id for row in reading.titled(tx, title) if row.title == title]
        for other in others:
            if other != session_id:
                return other
    lifecycle.set_title(tx, runtime, session_id, title)
    return None
