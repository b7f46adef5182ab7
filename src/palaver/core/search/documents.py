"""The documents of stored messages: what the index holds of a turn, what a scan finds in it, and what a hit shows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, NamedTuple
from zlib import crc32

from ...db.engine import Tx
from ...search.documents import LONGEST, Document, documents, plain
from ...search.words import Segments
from .. import codec, damage
from ..read import transcript
from . import records
from .records import MessageRow, PartToSearchRow, TurnToIndexRow

Parts = list[tuple[str | None, Any]]
LARGE = 4 << 20  # bytes of a part's JSON text


class Stored(NamedTuple):
    """A message, the turn it was found in, and its documents. `titled`: the session whose title is in the first."""

    id: str
    session_id: str
    role: str
    metadata: str
    at: int
    turn_id: str | None
    parts: Parts
    titled: str | None
    documents: list[Document]


def checksum(words: Segments) -> int:
    """Of the words of a document, as the index holds them."""
    return crc32(f"{' '.join(words.words)}\n{' '.join(words.pieces)}".encode())


# ---------------------------------------------------------------- of a turn


def of_turn(tx: Tx, turn: TurnToIndexRow) -> Iterator[Stored]:
    """Of the messages that a turn lists and that were written in its session: what it has of others is found where it
    was written. One that begins its session, in whichever turn, has the session's title in it."""
    for row in records.messages_of_turn.all(tx, turn=turn.id):
        if isinstance(row.id, str) and row.session_id == turn.session_id:  # else another program's; verify names it
            yield of_message(tx, row, turn.id, row.session_id if row.begins else None)


def of_open_turn(tx: Tx, turn: TurnToIndexRow) -> Iterator[Stored]:
    """The same of one that somebody writes: its rows lag behind what has streamed into it."""
    streamed = {message.id: message.parts for message in transcript.read_turn(tx, turn.id)}
    for stored in of_turn(tx, turn):
        texts = streamed.get(stored.id)
        if texts is None:
            continue
        ids = [part_id for part_id, _ in stored.parts]
        parts: Parts = [(part_id, damage.parsed(text)) for part_id, text in zip_longest(ids[: len(texts)], texts)]
        yield stored._replace(parts=parts, documents=_documents(tx, stored.role, parts, stored.titled))


def readable(
    tx: Tx, row: MessageRow, turn_id: str | None, titled: str | None, parts: Parts | None = None
) -> Iterator[Stored]:
    """The message, if its rows are what they should be; else verify names them."""
    try:
        yield of_message(tx, row, turn_id, titled, parts)
    except damage.RAISED:
        return


def of_message(tx: Tx, row: MessageRow, turn_id: str | None, titled: str | None, parts: Parts | None = None) -> Stored:
    """`parts`: where they were read already."""
    parts = parts_of(tx, row.id) if parts is None else parts
    role = damage.as_text(row.role)
    at = damage.as_time(row.created_at)
    found = _documents(tx, role, parts, titled)
    return Stored(row.id, row.session_id, role, damage.as_json(row.metadata_json), at, turn_id, parts, titled, found)


def retitled(tx: Tx, stored: Stored, titled: str | None) -> Stored:
    return stored._replace(titled=titled, documents=_documents(tx, stored.role, stored.parts, titled))


def parts_of(tx: Tx, message_id: str) -> Parts:
    return parts_of_rows(records.parts_to_search.all(tx, message=message_id, most=LARGE, beginning=LONGEST))


def parts_of_rows(found: list[PartToSearchRow]) -> Parts:
    return [(damage.as_text(row.id), _part(row)) for row in found]


def _part(row: PartToSearchRow) -> Any:
    """None: it cannot be read. One that is very large is not taken apart: its beginning stands for all of it."""
    if isinstance(row.data_json, str):
        return damage.parsed(codec.shown(row.data_json))
    if not isinstance(row.beginning, str):
        return None
    text = plain(row.beginning)
    return {"type": row.type, "state": row.tool_state, "text": text, "output": text, "toolCallId": row.id}


def _documents(tx: Tx, role: str, parts: Parts, titled: str | None) -> list[Document]:
    return list(documents(role, parts, title(tx, titled)))


def title(tx: Tx, session_id: str | None) -> str | None:
    row = records.title_of_session.one(tx, session=session_id) if session_id else None
    return row.title if row and isinstance(row.title, str) else None
