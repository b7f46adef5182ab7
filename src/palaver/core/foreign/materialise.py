"""Copies of a fork's prefix, for readers who know only the contract.

A fork shares the rows of the session it came from. `materialise` writes the messages of its path that live elsewhere
as rows of its own: the same role, parts, metadata and created_at, without usage (that was counted once). The copies
are listed, so that nobody takes them for loose rows, and are hidden exactly when their message leaves the path.
"""

from __future__ import annotations

from ...aisdk.parts import tool_columns
from ...base import exact_json, ids
from ...db.engine import Tx
from ...db.queries import Q
from .. import damage, metadata, rows
from ..read import transcript
from ..read.heads import Head
from ..read.transcript import Message
from . import hidden_stamps


def materialise(tx: Tx, head: Head) -> int:
    """Copy what is not here yet; how many messages that were."""
    done = {message_id for message_id, _ in tx.all(Q.copied_messages, session=head.session_id)}
    written = 0
    for message in transcript.read_path(tx, head.turn_id):
        row = rows.message.one(tx, id=message.id)
        if row is not None and row.session_id != head.session_id and message.id not in done:
            _copy(tx, head.session_id, message)
            written += 1
    if done:
        hidden_stamps.restamp(tx, head, head.turn_id)
    return written


def _copy(tx: Tx, session_id: str, message: Message) -> None:
    copy = ids.mint(ids.MESSAGE)
    tx.defer(
        Q.insert_message,
        id=copy,
        session=session_id,
        role=message.role,
        metadata=_without_usage(message.metadata),
        at=message.created_at,
    )
    message.mend()
    for place, data in enumerate(message.parts):
        part = exact_json.parse(data)
        call, state = tool_columns(part)
        tx.defer(
            Q.insert_part,
            id=ids.mint(ids.PART),
            message=copy,
            session=session_id,
            place=place,
            type=part["type"],
            data=data,
            call=call,
            state=state,
            at=message.created_at,
        )
    tx.defer(Q.insert_copy, copy=copy, session=session_id, message=message.id)


def _without_usage(text: str) -> str:
    text = metadata.view(text)
    if not isinstance(damage.parsed(text), dict):
        return "{}"
    if '"usage"' not in text:
        return text
    values = exact_json.open_object(text)
    values.pop("usage", None)
    return exact_json.dump(values)
