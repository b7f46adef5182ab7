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
        return self._with(_decode_parts(self.parts))

    def _with(self, parts: list[Any]) -> dict[str, Any]:
        shown = "{}" if self.metadata == "{}" else metadata.view(self.metadata)
        if shown == "{}":
            return {"id": self.client_id or self.id, "role": self.role, "parts": parts}
        return {
            "id": self.client_id or self.id,
            "role": self.role,
            "metadata": canonical.parse(shown),
            "parts": parts,
        }

    def json(self) -> str:
        """The same as text, with every stored byte as it was given."""
        shown = metadata.view(self.metadata)
        middle = f'"metadata":{shown},' if shown != "{}" else ""
        head = f'"id":{canonical.dump(self.client_id or self.id)},"role":{canonical.dump(self.role)},'
        return "{" + head + middle + '"parts":[' + ",".join(self.parts) + "]}"


def as_ui(messages: list[Message]) -> list[dict[str, Any]]:
    ui = _decoded(messages)
    return [message.ui() for message in messages] if ui is None else ui


def _decoded(messages: list[Message]) -> list[dict[str, Any]] | None:
    """All of them, their parts decoded in one go; None: there is something in them that needs more care."""
    text = "[" + ",".join(["[" + ",".join(message.parts) + "]" for message in messages]) + "]"
    try:
        parts = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
    return [message._with(each) for message, each in zip(messages, parts, strict=True)]


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


def read_ui(tx: Tx, session_id: str) -> list[dict[str, Any]]:
    """The whole transcript as UIMessages. Where a session's messages are exactly those on its path, they come with
    their parts joined by the engine: a fifth of the rows."""
    head = tx.one(Q.read_head, session=session_id)
    if head is None or head[0] is None or head[5] is not None or head[6] == "fork":
        return as_ui(read(tx, session_id))
    lines, rows = tx.all(Q.path_messages, turn=head[0]), tx.all(Q.whole_messages, session=session_id)
    if len(lines) != len(rows) or tx.one(Q.count_path_parts, turn=head[0]) != tx.one(Q.count_parts, session=session_id):
        return as_ui(read(tx, session_id))
    by_id = {row[0]: row for row in rows}
    stored = [_whole(turn, client_id, by_id[ref]) for turn, ref, client_id in lines if ref in by_id]
    ui = _decoded(stored) if len(stored) == len(lines) else None
    return as_ui(read(tx, session_id)) if ui is None else ui + as_ui(read_tail(tx, session_id))


def _whole(turn_id: str, client_id: str | None, row: Row) -> Message:
    ref, role, text, created_at, parts = row
    message = Message(ref, client_id, role, text, created_at, turn_id)
    message.parts = [parts] if parts else []
    return message


def read_path(tx: Tx, turn_id: str | None) -> list[Message]:
    """From the root to a turn."""
    if turn_id is None:
        return []
    return _assemble(tx.all(Q.path_rows, turn=turn_id))


def _read_own_path(tx: Tx, session_id: str, turn_id: str | None) -> list[Message]:
    """The same for a session that is no fork: every row on its path is its own, so they are read in two scans. If the
    parts are not just those that the turns list, in their order, the lines decide."""
    if turn_id is None:
        return []
    rows = {row[0]: row for row in tx.all(Q.rows_of_messages, session=session_id)}
    messages: dict[str, Message] = {}
    for turn, ref, client_id in tx.all(Q.path_messages, turn=turn_id):
        if ref in rows:
            _, role, text, created_at = rows[ref]
            messages[ref] = Message(ref, client_id, role, text, created_at, turn)
    listed = tx.one(Q.count_path_parts, turn=turn_id)
    return list(messages.values()) if listed == (_add_parts(tx, session_id, messages),) else read_path(tx, turn_id)


def _add_parts(tx: Tx, session_id: str, messages: dict[str, Message]) -> int:
    """How many there were; -1 if they are not in order."""
    count = 0
    for message_id, place, data in tx.all(Q.rows_of_parts, session=session_id):
        message = messages.get(message_id)
        if message is not None:
            if place != len(message.parts):
                return -1
            message.parts.append(data)
            count += 1
    return count


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


def read_open(tx: Tx, session_id: str, turn_id: str) -> list[Message]:
    """What an open turn lists, with what has streamed into it so far."""
    row = tx.one(Q.open_turn, turn=turn_id)
    return _open_messages(tx, session_id, row) if row is not None else read_turn(tx, turn_id)


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


def read_loose(tx: Tx, session_id: str) -> list[Message]:
    """What another program wrote and no turn lists, by its time."""
    return _loose(tx, session_id)


def _loose(tx: Tx, session_id: str) -> list[Message]:
    messages = []
    for found in loose.find(tx, session_id):
        message = Message(found.id, None, found.role, found.metadata, found.created_at, None)
        message.parts = [row[3] for row in tx.all(Q.parts_of_message, message=found.id)]
        messages.append(message)
    return messages


def as_json(messages: list[Message]) -> Raw:
    return Raw(("[" + ",".join(m.json() for m in messages) + "]").encode())
