"""Regenerate and edit: a sibling turn that lists what was said before, and the same question or another one."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...db.engine import Tx
from ...errors import BadValue, MessageNotFound, Refused
from ...keywords import TurnKeywords
from .. import heads, rows
from ..foreign import hidden_stamps
from ..read import entries, places, summaries
from ..read.entries import Entry
from ..read.heads import Head
from ..runtime import Runtime
from ..settle import preflight
from ..turn.open_turn import OpenTurn
from .begin import NewTurn, write_turn


class SiblingPlace(NamedTuple):
    """Where a sibling begins: its parent, the entries before the message, the id the client knows the message by."""

    parent_id: str | None
    before: list[Entry]
    known_as: str | None


def edited(content: Any, expected: Any, given: TurnKeywords) -> NewTurn:
    """What a caller gave to be said instead of a message."""
    if content is None or content == []:
        raise BadValue("an edit needs something to say instead; rewind() takes a message back")
    new = NewTurn.of(content, expected, given)
    if len(new.messages) > 1:
        raise BadValue("an edit replaces one message by one message")
    return new


def begin(tx: Tx, runtime: Runtime, session_id: str, message: str | None, given: NewTurn, editing: bool) -> OpenTurn:
    """Begin a sibling of the turn that has a message; with a new message, an edit."""
    messages = given.messages
    head = preflight.ready_to_say(tx, runtime, session_id, messages, given.expected)
    place = _place(tx, head, message, editing=editing)
    for one in messages:
        one.client_id = one.client_id or place.known_as
    old = head.turn_id
    heads.move(tx, head, place.parent_id, kind="begin", reason="edit" if messages else "regenerate")
    # The times were reserved before: loose rows that the caller has not read were put behind them.
    head = heads.lock(tx, session_id, timestamps=0)._replace(last_at=head.last_at)
    turn = write_turn(tx, head, given, *given.options.of_session(tx, session_id), references=place.before)
    hidden_stamps.restamp(tx, head, old)
    return turn


def _place(tx: Tx, head: Head, message: str | None, *, editing: bool) -> SiblingPlace:
    if message is None:
        said = _last_said(tx, head)
        message = _last_answer(tx, said)
        if message is None:  # asked, never answered: the same question again
            return SiblingPlace(_parent(tx, said), entries.of_turn(tx, said), None)
    turn_id, message = places.find_message(tx, head, message, on_path=True, in_tail=True)
    _refuse_role(tx, turn_id, message, editing=editing)
    listed = entries.of_turn(tx, turn_id)
    start = entries.start_of_message(listed, message)
    return SiblingPlace(_parent(tx, turn_id), listed[:start], listed[start].client_id or message)


def _refuse_role(tx: Tx, turn_id: str, message: str, *, editing: bool) -> None:
    row, turn = rows.message.one(tx, id=message), rows.turn.one(tx, turn=turn_id)
    if row is None:
        raise MessageNotFound(message)
    if turn is not None and turn.kind == summaries.KIND:
        raise Refused(f"message {message} is a summary; it was neither asked nor answered")
    if editing != (row.role != "assistant"):
        verb = "edit changes what was said to the agent" if editing else "regenerate answers again"
        raise Refused(f"{verb}; message {message} is from the {row.role}")


def _parent(tx: Tx, turn_id: str) -> str | None:
    turn = rows.parent_of.one(tx, turn=turn_id)
    assert turn is not None
    return turn.parent_id


def _last_said(tx: Tx, head: Head) -> str:
    """The last turn in which something was said: a summary is not."""
    for turn in reversed(rows.path_kinds.all(tx, turn=head.turn_id)) if head.turn_id else ():
        if turn.kind != summaries.KIND:
            return turn.id
    raise MessageNotFound(
        "the last answer",
        sentence=f"nothing was said in session {head.session_id} yet: there is no answer to give again",
    )


def _last_answer(tx: Tx, turn_id: str) -> str | None:
    """The answer that a turn ends with; None if it ends with a question."""
    for entry in reversed(entries.of_turn(tx, turn_id)):
        if entry.kind == "message":
            row = rows.message.one(tx, id=entry.ref)
            return entry.ref if row is not None and row.role == "assistant" else None
    return None
