"""Copies of a fork's prefix, for readers who know only the contract.

A fork shares the rows of the session it came from. `materialise` writes the messages of its path that live elsewhere
as rows of its own: the same role, parts, metadata and created_at, without usage (that was counted once). The copies
are listed, so that nobody takes them for loose rows, and are hidden exactly when their message leaves the path.
"""

from __future__ import annotations

from typing import NamedTuple

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


class Copied(NamedTuple):
    """What a copy of a message says."""

    role: str
    metadata: str
    created_at: int
    parts: list[str]


def copied(message: Message) -> Copied:
    message.mend()
    return Copied(message.role, _without_usage(message.metadata), message.created_at, message.parts)


def as_stored(tx: Tx, message_id: str) -> Message | None:
    """A message by itself, as its rows have it."""
    row = rows.message.one(tx, id=message_id)
    if row is None:
        return None
    message = Message(row.id, None, row.role, row.metadata_json, row.created_at, None)
    for part in rows.parts.all(tx, message=message_id):
        message.add(part.id, part.data_json)
    return message


def _copy(tx: Tx, session_id: str, message: Message) -> None:
    copy, said = ids.mint(ids.MESSAGE), copied(message)
    row = {"role": said.role, "metadata": said.metadata, "at": said.created_at}
    tx.defer(Q.insert_message, id=copy, session=session_id, **row)
    _write_parts(tx, session_id, copy, said)
    tx.defer(Q.insert_copy, copy=copy, session=session_id, message=message.id)


def rewrite(tx: Tx, session_id: str, copy: str, said: Copied, hidden_at: int | None, now: int) -> None:
    """Make a copy again what it is a copy of; whether it is hidden is a matter of its own. Its role and its time are
    never assigned to: verify goes on naming those."""
    text = metadata.add_owned(said.metadata, usage=None, hidden_at=hidden_at)
    tx.defer(Q.set_message_metadata, id=copy, metadata=text, now=now)
    for part in rows.parts.all(tx, message=copy):
        tx.defer(Q.delete_part, id=part.id)
    _write_parts(tx, session_id, copy, said)


def _write_parts(tx: Tx, session_id: str, copy: str, said: Copied) -> None:
    for place, data in enumerate(said.parts):
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
            at=said.created_at,
        )


def _without_usage(text: str) -> str:
    text = metadata.view(text)
    if not isinstance(damage.parsed(text), dict):
        return "{}"
    if '"usage"' not in text:
        return text
    values = exact_json.open_object(text)
    values.pop("usage", None)
    return exact_json.dump(values)
