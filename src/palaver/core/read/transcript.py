"""What a session reads as: the head's ancestry, then the live tail.

The tail is one list, by created_at: messages of open turns begun on the current revision, and loose rows. A read is
one snapshot. Parts of a streaming turn are folded from its events, so a reader of ours never lags behind the
last acknowledged chunk, however old the part's row is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import msgspec

from ...base import exact_json
from ...base.exact_json import Raw
from ...base.lazy_import import later
from ...db.engine import Row, Tx
from ...db.queries import Q
from ...errors import SessionNotFound, TurnNotFound
from ...model import ROLES
from .. import damage, metadata
from ..foreign import adopt

if TYPE_CHECKING:
    from ..turn import open_turn
else:
    later(globals(), ".core.turn.open_turn")

_type_of = itemgetter("type")
_LINE, _FIELD = "\x1e", "\x1f"


class Message:
    """A message as stored: JSON texts, not yet decoded."""

    __slots__ = ("client_id", "created_at", "id", "metadata", "part_ids", "parts", "role", "turn_id")

    def __init__(
        self, id: str, client_id: str | None, role: str, metadata: str, created_at: int, turn_id: str | None
    ) -> None:
        self.id = id
        self.client_id = client_id
        self.role = role if role in ROLES else damage.as_text(role)
        self.metadata = metadata if type(metadata) is str else ""
        self.created_at = created_at if type(created_at) is int else damage.as_time(created_at)
        self.turn_id = turn_id
        self.parts: list[str] = []
        self.part_ids: list[str] = []

    def add(self, part_id: str, data: str) -> None:
        self.parts.append(data if type(data) is str else damage.part(part_id))
        self.part_ids.append(part_id)

    def mend(self) -> None:
        """What cannot be read is replaced by what says so."""
        ids = self.part_ids or [self.id] * len(self.parts)
        pairs = zip(ids, self.parts, strict=True)
        self.parts = [data if damage.is_part(data) else damage.part(part_id) for part_id, data in pairs]

    def ui(self) -> dict[str, Any]:
        """The AI SDK's UIMessage. The id is the one the client knows."""
        parts = _decoded([",".join(self.parts)])
        if parts is None or len(parts[0]) != len(self.parts):
            self.mend()
            parts = [[exact_json.parse(text) for text in self.parts]]
        return _ui(self.client_id or self.id, self.role, self.metadata, parts[0], self.id)

    def json(self) -> str:
        """The same as text, with every stored byte as it was given."""
        parts = _decoded([",".join(self.parts)])
        if parts is None or len(parts[0]) != len(self.parts):
            self.mend()
        shown = metadata.view(self.metadata)
        if shown != "{}" and not isinstance(damage.parsed(shown), dict):
            shown = exact_json.encode(damage.opened(shown, self.id))
        middle = f'"metadata":{shown},' if shown != "{}" else ""
        head = f'"id":{exact_json.dump(self.client_id or self.id)},"role":{exact_json.dump(self.role)},'
        return "{" + head + middle + '"parts":[' + ",".join(self.parts) + "]}"


def as_ui(messages: list[Message]) -> list[dict[str, Any]]:
    parts = _decoded([",".join(message.parts) for message in messages])
    if parts is None or any(len(each) != len(m.parts) for m, each in zip(messages, parts, strict=True)):
        return [message.ui() for message in messages]
    return [_ui(m.client_id or m.id, m.role, m.metadata, each, m.id) for m, each in zip(messages, parts, strict=True)]


def _ui(shown_id: str, role: str, stored: str, parts: list[Any], row_id: str) -> dict[str, Any]:
    shown = stored if stored == "{}" else metadata.view(stored)
    if shown == "{}":
        return {"id": shown_id, "role": role, "parts": parts}
    return {"id": shown_id, "role": role, "metadata": damage.opened(shown, row_id), "parts": parts}


def _decoded(texts: list[str]) -> list[list[Any]] | None:
    """Lists of parts, decoded in one go; None: there is something in them that needs more care."""
    try:
        parts: list[list[Any]] = msgspec.json.decode("[[" + "],[".join(texts) + "]]") if texts else []
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
    return parts if len(parts) == len(texts) and _are_parts(parts) else None


def _are_parts(parts: list[list[Any]]) -> bool:
    """Whether all are objects with a type (see `damage.is_part`), without a look at each in Python."""
    if not set(map(type, chain.from_iterable(parts))) <= {dict}:
        return False
    try:
        return set(map(type, map(_type_of, chain.from_iterable(parts)))) <= {str}
    except KeyError:
        return False


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
    """The whole transcript as UIMessages."""
    head = tx.one(Q.read_head, session=session_id)
    found = None
    if head is not None and head[0] is not None and head[5] is None and head[6] != "fork":
        found = _read_whole(tx, session_id, head[0])
    return as_ui(read(tx, session_id)) if found is None else found


def _read_whole(tx: Tx, session_id: str, turn_id: str) -> list[dict[str, Any]] | None:
    """Where a session's messages are exactly those on its path, with exactly the parts that are listed there, they come
    with their parts joined by the engine: a fifth of the rows. There is no tail then. None: they are not."""
    lines = _Lines(tx, turn_id)
    rows = {row[0]: row for row in tx.all(Q.whole_messages, session=session_id)}
    if not set(map(type, chain.from_iterable(rows.values()))) <= {str, type(None)}:
        return None
    if not lines.is_clear or rows.keys() != lines.refs() or len(rows) != len(lines.messages):
        return None
    parts = _decoded([rows[ref][3] or "" for _, ref, _ in lines.messages])
    if parts is None or sum(map(len, parts)) != lines.parts:
        return None
    return [
        _ui(client_id or ref, rows[ref][1], rows[ref][2], each, ref)
        for (_, ref, client_id), each in zip(lines.messages, parts, strict=True)
    ]


class _Lines:
    """What the turns on a path list: (turn, message, the id the client knows it by), and how many parts."""

    def __init__(self, tx: Tx, turn_id: str) -> None:
        self.messages: list[tuple[str, str, str | None]] = []
        self.parts = 0
        self.is_clear = True  # False: an id of another program has our separators in it
        for turn, text in tx.all(Q.path_lines, turn=turn_id, line=_LINE, field=_FIELD):
            *lines, parts = text.split(_LINE)
            self.parts += int(parts)
            for line in lines:
                self._add(turn, line.split(_FIELD))

    def _add(self, turn: str, fields: list[str]) -> None:
        if len(fields) == 2:
            self.messages.append((turn, fields[0], fields[1] or None))
        else:
            self.is_clear = False

    def refs(self) -> set[str]:
        return {ref for _, ref, _ in self.messages}


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
    lines = _Lines(tx, turn_id)
    if not lines.is_clear:
        return read_path(tx, turn_id)
    rows = {row[0]: row for row in tx.all(Q.rows_of_messages, session=session_id)}
    messages: dict[str, Message] = {}
    for turn, ref, client_id in lines.messages:
        if ref in rows:
            _, role, text, created_at = rows[ref]
            messages[ref] = Message(ref, client_id, role, text, created_at, turn)
    return list(messages.values()) if lines.parts == _add_parts(tx, session_id, messages) else read_path(tx, turn_id)


def _add_parts(tx: Tx, session_id: str, messages: dict[str, Message]) -> int:
    """How many there were; -1 if they are not in order."""
    count = 0
    for message_id, place, part_id, data in tx.all(Q.rows_of_parts, session=session_id):
        message = messages.get(message_id)
        if message is not None:
            if place != len(message.parts):
                return -1
            message.add(part_id, data)
            count += 1
    return count


def read_turn(tx: Tx, turn_id: str) -> list[Message]:
    """What one turn lists; of an open one, with what has streamed into it so far."""
    if tx.one(Q.parent_of, turn=turn_id) is None:
        raise TurnNotFound(turn_id)
    return _filled(tx, turn_id, _assemble(tx.all(Q.turn_rows, turn=turn_id)))


def read_tail(tx: Tx, session_id: str) -> list[Message]:
    tail = _loose(tx, session_id)
    for row in tx.all(Q.tail_turns, session=session_id):
        tail.extend(_open_messages(tx, session_id, row))
    tail.sort(key=lambda m: (m.created_at, m.id))
    return tail


def read_to(tx: Tx, turn_id: str) -> list[Message]:
    """From the root to a turn; if it is open, with what has streamed into it so far."""
    return _filled(tx, turn_id, read_path(tx, turn_id))


def _filled(tx: Tx, turn_id: str, messages: list[Message]) -> list[Message]:
    row = tx.one(Q.open_turn, turn=turn_id)
    if row is not None:
        session_id, *rest = row
        _fill(tx, session_id, rest, messages)
    return messages


def _open_messages(tx: Tx, session_id: str, row: Row) -> list[Message]:
    messages = _assemble(tx.all(Q.turn_rows, turn=row[0]))
    _fill(tx, session_id, row, messages)
    return messages


def _fill(tx: Tx, session_id: str, row: Sequence[Any], messages: list[Message]) -> None:
    turn_id, begin_seq, response_id, _, facts = row
    for message in messages:
        if message.id == response_id and message.turn_id == turn_id:
            _fold_into(tx, session_id, begin_seq, facts, message)


def _fold_into(tx: Tx, session_id: str, begin_seq: int, facts: str, message: Message) -> None:
    try:
        fold = open_turn.new_fold(exact_json.parse(facts))
        open_turn.replay(fold, tx.all(Q.events_of_turn, session=session_id, begin_seq=begin_seq))
    except damage.RAISED:  # a damaged chunk: what its part rows have; verify names it
        return
    message.parts = [exact_json.dump(fold.part(i)) for i in range(len(fold.parts))]
    message.part_ids = []


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
                owner.add(ref, data)
    return messages


def read_loose(tx: Tx, session_id: str) -> list[Message]:
    """What another program wrote and no turn lists, by its time."""
    return _loose(tx, session_id)


def _loose(tx: Tx, session_id: str) -> list[Message]:
    messages = []
    for found in adopt.find(tx, session_id):
        message = Message(found.id, None, found.role, found.metadata, found.created_at, None)
        for part_id, _, _, data in tx.all(Q.parts_of_message, message=found.id):
            message.add(part_id, data)
        messages.append(message)
    return messages


def as_json(messages: list[Message]) -> Raw:
    return Raw(("[" + ",".join(m.json() for m in messages) + "]").encode())
