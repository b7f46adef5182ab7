"""What a session reads as: the head's ancestry, then the live tail.

The tail is one list, by created_at: messages of open turns begun on the current revision, and loose rows. A read is
one snapshot. Parts of a streaming turn are folded from its events, so a reader of ours never lags behind the
last acknowledged chunk, however old the part's row is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from .. import canonical
from ..canonical import Raw
from ..db.database import Row, Tx
from ..db.queries import Q
from ..errors import SessionNotFound, TurnNotFound
from . import loose, metadata, turns


class Message:
    """A message as stored: JSON texts, not yet decoded."""

    __slots__ = ("client_id", "created_at", "id", "metadata", "parts", "role", "turn_id")

    def __init__(
        self, id: str, client_id: str | None, role: str, metadata: str, created_at: int, turn_id: str | None
    ) -> None:
        self.id = id
        self.client_id = client_id
        self.role = role
        self.metadata = metadata
        self.created_at = created_at
        self.turn_id = turn_id
        self.parts: list[str] = []

    def ui(self) -> dict[str, Any]:
        """The AI SDK's UIMessage. The id is the one the client knows."""
        message: dict[str, Any] = {"id": self.client_id or self.id, "role": self.role}
        shown = metadata.view(self.metadata)
        if shown != "{}":
            message["metadata"] = canonical.parse(shown)
        message["parts"] = _decode_parts(self.parts)
        return message

    def json(self) -> str:
        """The same as text, with every stored byte as it was given."""
        shown = metadata.view(self.metadata)
        middle = f'"metadata":{shown},' if shown != "{}" else ""
        head = f'"id":{canonical.dump(self.client_id or self.id)},"role":{canonical.dump(self.role)},'
        return "{" + head + middle + '"parts":[' + ",".join(self.parts) + "]}"


def _decode_parts(texts: list[str]) -> list[Any]:
    joined = "[" + ",".join(texts) + "]"
    try:
        return msgspec.json.decode(joined)  # type: ignore[no-any-return]
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return [canonical.parse(text) for text in texts]


def read(tx: Tx, session_id: str) -> list[Message]:
    """The whole transcript as it stands now."""
    head = tx.one(Q.read_head, session=session_id)
    if head is None:
        if tx.one(Q.session_exists, session=session_id) is None:
            raise SessionNotFound(session_id)
        return _loose(tx, session_id)
    if head[5] is not None:
        return []
    path = read_path(tx, head[0]) if head[6] == "fork" else _read_own_path(tx, session_id, head[0])
    return path + read_tail(tx, session_id)


def read_path(tx: Tx, turn_id: str | None) -> list[Message]:
    """From the root to a turn."""
    if turn_id is None:
        return []
    return _assemble(tx.all(Q.path_rows, turn=turn_id))


def _read_own_path(tx: Tx, session_id: str, turn_id: str | None) -> list[Message]:
    """The same for a session that is no fork: every row on its path is its own, so they are read in two scans."""
    if turn_id is None:
        return []
    rows = {row[0]: row for row in tx.all(Q.rows_of_messages, session=session_id)}
    parts = {row[0]: row for row in tx.all(Q.rows_of_parts, session=session_id)}
    messages: dict[str, Message] = {}
    for turn, kind, ref, client_id in tx.all(Q.path_lines, turn=turn_id):
        if kind == "part":
            part = parts.get(ref)
            if part is not None and part[1] in messages:
                messages[part[1]].parts.append(part[2])
        elif ref in rows:
            _, role, text, created_at = rows[ref]
            messages[ref] = Message(ref, client_id, role, text, created_at, turn)
    return list(messages.values())


def read_turn(tx: Tx, turn_id: str) -> list[Message]:
    """What one turn lists; of an open one, what has a row."""
    if tx.one(Q.parent_of, turn=turn_id) is None:
        raise TurnNotFound(turn_id)
    return _assemble(tx.all(Q.turn_rows, turn=turn_id))


def read_tail(tx: Tx, session_id: str) -> list[Message]:
    tail = _loose(tx, session_id)
    for row in tx.all(Q.tail_turns, session=session_id):
        tail.extend(_open_messages(tx, session_id, row))
    tail.sort(key=lambda m: (m.created_at, m.id))
    return tail


def _open_messages(tx: Tx, session_id: str, row: Row) -> list[Message]:
    turn_id, begin_seq, response_id, _, facts = row
    messages = _assemble(tx.all(Q.turn_rows, turn=turn_id))
    for message in messages:
        if message.id == response_id:
            _fold_into(tx, session_id, begin_seq, facts, message)
    return messages


def _fold_into(tx: Tx, session_id: str, begin_seq: int, facts: str, message: Message) -> None:
    fold = turns.new_fold(canonical.parse(facts))
    turns.replay(fold, tx.all(Q.events_of_turn, session=session_id, begin_seq=begin_seq))
    message.parts = [canonical.dump(fold.part(i)) for i in range(len(fold.parts))]


def _assemble(rows: Iterable[Row]) -> list[Message]:
    """Lines in the order of record become messages with their parts; rows gone missing are skipped."""
    messages: list[Message] = []
    by_id: dict[tuple[str, str], Message] = {}
    for turn_id, kind, ref, client_id, role, meta, created_at, message_id, data in rows:
        if kind == "message":
            if role is not None:
                message = Message(ref, client_id, role, meta, created_at, turn_id)
                messages.append(message)
                by_id[turn_id, ref] = message
        elif data is not None:
            owner = by_id.get((turn_id, message_id))
            if owner is not None:
                owner.parts.append(data)
    return messages


def _loose(tx: Tx, session_id: str) -> list[Message]:
    messages = []
    for found in loose.find(tx, session_id):
        message = Message(found.id, None, found.role, found.metadata, found.created_at, None)
        message.parts = [row[3] for row in tx.all(Q.parts_of_message, message=found.id)]
        messages.append(message)
    return messages


def as_json(messages: list[Message]) -> Raw:
    return Raw(("[" + ",".join(m.json() for m in messages) + "]").encode())
