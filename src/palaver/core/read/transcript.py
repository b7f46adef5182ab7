"""What a session reads as: the head's ancestry, then the live tail.

The tail is one list, by created_at: messages of open turns begun on the current revision, and loose rows. A read is
one snapshot. A path is read in one of two ways: joined (few rows, where nothing is out of the ordinary) or carefully,
entry by entry. Parts of a streaming turn are folded from its events, so a reader of ours never lags behind the
last acknowledged chunk, however old the part's row is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from ...aisdk.parts import TOOL_ROW
from ...base import exact_json
from ...base.exact_json import Raw
from ...db.engine import Row, Tx
from ...db.queries import Q, Query
from ...errors import TurnNotFound
from ...model import ROLES
from .. import codec, damage, metadata, rows
from ..rows import HeadRow, OpenTailRow, TailRow
from . import entries, loose_rows, sessions
from .loose_rows import LooseMessage

_type_of = itemgetter("type")
FindLoose = Callable[[Tx, str], list[LooseMessage]]
_PartsOf = Callable[[list[str]], list[list[Any]] | None]
_LINE, _FIELD = "\x1e", "\x1f"
_BETWEEN = ",\n\r\t"


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

    def __repr__(self) -> str:
        return f"<StoredMessage {self.id} {self.role}, {len(self.parts)} part{'' if len(self.parts) == 1 else 's'}>"

    def add(self, part_id: str, data: str) -> None:
        self.parts.append(codec.shown(data) if type(data) is str else damage.part(part_id))
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
    messages = [message for message in messages if not _is_row(message)]
    parts = _decoded([",".join(message.parts) for message in messages])
    if parts is None or any(len(each) != len(m.parts) for m, each in zip(messages, parts, strict=True)):
        return [message.ui() for message in messages]
    return [_ui(m.client_id or m.id, m.role, m.metadata, each, m.id) for m, each in zip(messages, parts, strict=True)]


def _is_row(message: Message) -> bool:
    """A row of a dialect that is no message is in no view of the AI SDK."""
    if len(message.parts) != 1 or f'"{TOOL_ROW}"' not in message.parts[0]:
        return False
    part = damage.parsed(message.parts[0])
    return isinstance(part, dict) and part.get("type") == TOOL_ROW


def _ui(shown_id: str, role: str, stored: str, parts: list[Any], row_id: str) -> dict[str, Any]:
    shown = stored if stored == "{}" else metadata.view(stored)
    if shown == "{}":
        return {"id": shown_id, "role": role, "parts": parts}
    return {"id": shown_id, "role": role, "metadata": damage.opened(shown, row_id), "parts": parts}


def _decoded(texts: list[str]) -> list[list[Any]] | None:
    """Lists of parts, decoded in one go; None: there is something in them that needs more care."""
    try:
        parts: list[list[Any]] = msgspec.json.decode(codec.shown("[[" + "],[".join(texts) + "]]")) if texts else []
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
    return parts if len(parts) == len(texts) and _are_parts(parts) else None


def _split(texts: list[str]) -> list[list[tuple[str, str]]] | None:
    """(id, text) of each part. Where a text has in it what stands between the parts, the counts differ: None."""
    try:
        parts = [[_halves(piece) for piece in text.split(_BETWEEN)] if text else [] for text in texts]
        joined = "],[".join([",".join([data for _, data in each]) for each in parts])
        typed = msgspec.json.decode(f"[[{joined}]]", type=list[list[_Typed]]) if texts else []
    except (msgspec.MsgspecError, RecursionError, UnicodeError, ValueError):
        return None
    return parts if list(map(len, typed)) == list(map(len, parts)) else None


def _halves(piece: str) -> tuple[str, str]:
    name, data = piece.split(_FIELD, 1)
    return name, codec.shown(data)


class _Typed(msgspec.Struct):
    """Whatever is an object with a type (see `damage.is_part`)."""

    type: str


def _are_parts(parts: list[list[Any]]) -> bool:
    """Whether all are objects with a type (see `damage.is_part`), without a look at each in Python."""
    if not set(map(type, chain.from_iterable(parts))) <= {dict}:
        return False
    try:
        return set(map(type, map(_type_of, chain.from_iterable(parts)))) <= {str}
    except KeyError:
        return False


def read(tx: Tx, session_id: str) -> list[Message]:
    """The transcript as it stands now."""
    head = rows.head.one(tx, session=session_id)
    joined = (
        _joined(tx, session_id, head, Q.whole_messages_with_ids, _split)
        if head is not None and head.deleted_at is None
        else None
    )
    if joined is None:
        return _read_carefully(tx, session_id, head)
    return joined.messages() if joined.is_all else joined.messages() + read_tail(tx, session_id)


def _read_carefully(tx: Tx, session_id: str, head: HeadRow | None) -> list[Message]:
    if head is None:
        sessions.require(tx, session_id)
        return read_loose(tx, session_id)
    if head.deleted_at is not None:
        return []
    return read_path(tx, head.turn_id) + read_tail(tx, session_id)


def read_ui(tx: Tx, session_id: str) -> list[dict[str, Any]]:
    """The whole transcript as UIMessages."""
    head = rows.head.one(tx, session=session_id)
    joined = (
        _joined(tx, session_id, head, Q.whole_messages, _decoded)
        if head is not None and head.deleted_at is None
        else None
    )
    if joined is None:
        return as_ui(_read_carefully(tx, session_id, head))
    return joined.ui() if joined.is_all else joined.ui() + as_ui(read_tail(tx, session_id))


# ---------------------------------------------------------------- joined: the engine puts a message's parts together


def _joined(tx: Tx, session_id: str, head: HeadRow | None, query: Query, parts_of: _PartsOf) -> _Joined | None:
    """The path of a session whose messages are all its own, with exactly the parts that its turns list: the engine
    joins the parts of each, a fifth of the rows. None: they are not, and the entries decide."""
    if head is None or head.deleted_at is not None or head.turn_id is None or head.relation == "fork":
        return None
    lines = _Lines(tx, head.turn_id)
    found = tx.all(query, session=session_id, between=_BETWEEN, field=_FIELD)
    stored = {ref: (role, text, parts, at) for ref, role, text, parts, at in found}
    if not lines.is_clear or not lines.refs <= stored.keys() or len(lines.refs) != len(lines.messages):
        return None
    on_path = [stored[ref] for _, ref, _ in lines.messages]
    if not {type(each) for role, text, parts, _ in on_path for each in (role, text, parts)} <= {str, type(None)}:
        return None
    parts = parts_of([parts or "" for _, _, parts, _ in on_path])
    if parts is None or sum(map(len, parts)) != lines.parts:
        return None
    return _Joined(lines.messages, on_path, parts, len(stored) == len(on_path))


class _Joined(NamedTuple):
    lines: list[tuple[str, str, str | None]]
    rows: list[Row]
    parts: list[list[Any]]
    is_all: bool  # the session has no other rows: there is no tail

    def ui(self) -> list[dict[str, Any]]:
        return [
            _ui(client_id or ref, role, metadata, parts, ref)
            for (_, ref, client_id), (role, metadata, _, _), parts in zip(
                self.lines, self.rows, self.parts, strict=True
            )
            if len(parts) != 1 or parts[0]["type"] != TOOL_ROW
        ]

    def messages(self) -> list[Message]:
        """The same as messages whose parts are the texts as stored."""
        found = []
        for (turn_id, ref, client_id), (role, text, _, at), parts in zip(
            self.lines, self.rows, self.parts, strict=True
        ):
            message = Message(ref, client_id, role, text, at, turn_id)
            message.part_ids = [name for name, _ in parts]
            message.parts = [data for _, data in parts]
            found.append(message)
        return found


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
            ref, client_id = fields
            self.messages.append((turn, ref, client_id or None))
        else:
            self.is_clear = False

    @cached_property
    def refs(self) -> set[str]:
        return {ref for _, ref, _ in self.messages}


# ---------------------------------------------------------------- careful: entry by entry


def read_path(tx: Tx, turn_id: str | None) -> list[Message]:
    """From the root to a turn."""
    return [] if turn_id is None else assemble(tx.all(Q.path_rows, turn=turn_id))


def iterate(tx: Tx, session_id: str, to: str | None = None) -> Iterator[Message]:
    """The transcript, turn by turn: memory holds one turn of the path; the tail is read at once. `to`: up to a turn."""
    sessions.require(tx, session_id)
    if to is not None:
        yield from read_to(tx, session_id, to)
        return
    head = rows.head.one(tx, session=session_id)
    if head is not None and head.deleted_at is not None:
        return
    for turn_id in reversed(entries.path(tx, head.turn_id if head else None)):
        yield from assemble(tx.all(Q.turn_rows, turn=turn_id))
    yield from read_tail(tx, session_id)


def read_turn(tx: Tx, turn_id: str) -> list[Message]:
    """What one turn lists; of an open one, with what has streamed into it so far."""
    if rows.parent_of.one(tx, turn=turn_id) is None:
        raise TurnNotFound(turn_id)
    return filled(tx, turn_id, assemble(tx.all(Q.turn_rows, turn=turn_id)))


def read_tail(tx: Tx, session_id: str, find: FindLoose = loose_rows.find) -> list[Message]:
    tail = read_loose(tx, session_id, find)
    for turn in rows.tail_turns.all(tx, session=session_id):
        tail += _fill(tx, session_id, turn, assemble(tx.all(Q.turn_rows, turn=turn.id)))
    tail.sort(key=lambda m: (m.created_at, m.id))
    return tail


def read_to(tx: Tx, session_id: str, turn_id: str | None) -> list[Message]:
    """From the root to a turn; if it is open, with what has streamed into it so far. None: the whole transcript."""
    if turn_id is None:
        return read(tx, session_id)
    if rows.parent_of.one(tx, turn=turn_id) is None:
        raise TurnNotFound(turn_id)
    return filled(tx, turn_id, read_path(tx, turn_id))


def filled(tx: Tx, turn_id: str, messages: list[Message]) -> list[Message]:
    """If the turn is open, with what has streamed into it so far."""
    turn = rows.open_tail_turn.one(tx, turn=turn_id)
    return messages if turn is None else _fill(tx, turn.session_id, turn, messages)


def _fill(tx: Tx, session_id: str, turn: TailRow | OpenTailRow, messages: list[Message]) -> list[Message]:
    """The response of an open turn gets what has streamed into it so far."""
    for message in messages:
        if message.id == turn.response_id and message.turn_id == turn.id:
            _fold_into(tx, session_id, turn, message)
    return messages


def _fold_into(tx: Tx, session_id: str, turn: TailRow | OpenTailRow, message: Message) -> None:
    from .replay import new_fold, replay  # when a turn is open: most reads meet none, and start without the fold

    try:
        fold = new_fold(exact_json.parse(turn.facts_json))
        replay(fold, tx.all(Q.events_of_turn, session=session_id, begin_seq=turn.begin_seq))
    except damage.RAISED:  # a damaged chunk: what its part rows have; verify names it
        return
    message.parts = [exact_json.dump(fold.part(i)) for i in range(len(fold.parts))]
    message.part_ids = []


def assemble(stored: Iterable[Row]) -> list[Message]:
    """Lines in the order of record become messages with their parts; rows gone missing are skipped."""
    messages: list[Message] = []
    by_id: dict[tuple[str, str], Message] = {}
    for turn_id, kind, ref, client_id, role, meta, created_at, message_id, data in stored:
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


def read_loose(tx: Tx, session_id: str, find: FindLoose = loose_rows.find) -> list[Message]:
    """What another program wrote and no turn lists, by its time."""
    messages = []
    for found in find(tx, session_id):
        message = Message(found.id, None, found.role, found.metadata, found.created_at, None)
        for part in rows.parts.all(tx, message=found.id):
            message.add(part.id, part.data_json)
        messages.append(message)
    return messages


def as_json(messages: list[Message]) -> Raw:
    return Raw(("[" + ",".join(m.json() for m in messages if not _is_row(m)) + "]").encode())
