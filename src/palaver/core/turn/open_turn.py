"""Turns: begin one, keep what streams into it, seal it.

An `OpenTurn` is the working tree of one turn: the entries written so far, the fold of its chunks, and what is
needed to freeze it. The process that streams into a turn holds it in memory; recovery and `resume` rebuild it from
the rows and events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base import exact_json, ids
from ...base.clock import now_ms
from ...base.lazy_import import later
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import BadValue, TurnNotFound, TurnSealed
from ...model import Usage
from .. import heads
from ..heads import Head, Thread
from .message_input import NewMessage, NewPart

if TYPE_CHECKING:
    from ...aisdk import chunks, folding
    from ...aisdk.folding import Fold
else:
    later(globals(), ".aisdk.chunks", ".aisdk.folding")

NOTHING = Usage()
OWN_FACTS = ("abort_reason", "error")  # of a turn that is open, in memory until the seal
assert Q.insert_message.names == ("id", "session", "role", "metadata", "at")
assert Q.insert_part.names == ("id", "message", "session", "place", "type", "data", "call", "state", "at")
assert Q.insert_entry.names == ("turn", "seq", "kind", "ref", "client", "salt", "leaf")
assert Q.insert_turn.names == (
    *("id", "parent", "session", "revision", "begin_seq", "kind", "status", "owner", "now", "depth", "thread_tokens"),
    *("thread_messages", "facts"),
)
assert Q.insert_event.names == ("session", "seq", "kind", "turn", "data", "at")


class Entry:
    """One line of a turn: the order of record."""

    __slots__ = ("client_id", "kind", "leaf", "ref", "salt", "seq")

    def __init__(
        self, seq: int, kind: str, ref: str, client_id: str | None, salt: bytes | None, leaf: bytes | None
    ) -> None:
        self.seq = seq
        self.kind = kind
        self.ref = ref
        self.client_id = client_id
        self.salt = salt
        self.leaf = leaf


class OpenTurn:
    """The state of a turn that is not sealed."""

    def __init__(
        self,
        id: str,
        session_id: str,
        parent_id: str | None,
        thread: Thread,
        base_revision: int,
        begin_seq: int,
        kind: str = "turn",
        facts: dict[str, Any] | None = None,
    ) -> None:
        self.id = id
        self.session_id = session_id
        self.parent_id = parent_id
        self.thread = thread
        self.base_revision = base_revision
        self.begin_seq = begin_seq
        self.kind = kind
        self.facts = facts or {}
        self.status = "streaming"
        self.fence = 1
        self.entries: list[Entry] = []
        self.messages = 0
        self.response_id: str | None = None
        self._fold: Fold | None = None
        self.part_ids: list[str] = []
        self.rows: dict[int, int] = {}  # part -> hash of what its row holds
        self.saved_metadata: tuple[str, str | None] | None = None
        self.usage = Usage()
        self.cost = 0.0
        self.told = False
        self.chunks = 0
        self.digest: bytes | None = None
        self.at = 0

    def add(
        self,
        tx: Tx,
        kind: str,
        ref: str,
        client_id: str | None = None,
        salt: bytes | None = None,
        leaf: bytes | None = None,
    ) -> Entry:
        """Write the next line."""
        entry = Entry(len(self.entries), kind, ref, client_id, salt, leaf)
        self.entries.append(entry)
        self.messages += kind == "message"
        _insert_entry(tx, self.id, entry)
        return entry

    @property
    def fold(self) -> Fold:
        if self._fold is None:
            self._fold = new_fold(self.facts)
        return self._fold

    def replace_fold(self, fold: Fold) -> None:
        self._fold = fold

    @property
    def given_metadata(self) -> str:
        """The response's metadata without the keys we own: what its leaf covers."""
        value = self.fold.metadata
        return "{}" if value is folding.MISSING else exact_json.dump(value)

    @property
    def row_usage(self) -> str | None:
        return self.usage.json() if self.told else None


def new_fold(facts: dict[str, Any]) -> Fold:
    """The fold of a response that starts with the metadata its turn was begun with."""
    start = facts.get("metadata")
    message: dict[str, Any] = {"id": "", "role": "assistant", "parts": []}
    if start:
        message["metadata"] = dict(start)
    return folding.Fold(message, resets=False)


# ---------------------------------------------------------------- begin


def begin(
    tx: Tx,
    head: Head,
    prepared: list[NewMessage],
    *,
    owner: str | None,
    facts: dict[str, Any],
    references: list[Entry] | None = None,
    status: str = "streaming",
    thread: Thread | None = None,
) -> OpenTurn:
    """A new open turn whose parent is the head. `references` list messages that were written in other turns."""
    if thread is None:
        thread = heads.thread_of(tx, head.turn_id)
    session_id, parent_id, revision, seq, at = head[:5]
    turn = OpenTurn(ids.mint(ids.TURN), session_id, parent_id, thread, revision, seq, facts=facts)
    tx.defer_values(
        Q.insert_turn,
        *(turn.id, parent_id, session_id, revision, seq, "turn", status, owner, at, thread.depth + 1, thread.tokens),
        *(thread.messages, exact_json.encode(facts) if facts else "{}"),
    )
    for entry in references or ():
        turn.add(tx, entry.kind, entry.ref, entry.client_id, entry.salt, entry.leaf)
    write_messages(tx, turn, prepared, last_at=head.last_at)
    data = exact_json.dump({"turn": turn.id, "parent": parent_id})
    tx.defer_values(Q.insert_event, session_id, seq, "begin", seq, data, now_ms())
    return turn


def write_messages(tx: Tx, turn: OpenTurn, prepared: list[NewMessage], *, last_at: int) -> None:
    """Rows and lines of messages that are whole. Their created_at values end at `last_at`."""
    for place, message in enumerate(prepared):
        if message.client_id is not None:
            use_free_id(tx, message)
        at = last_at - len(prepared) + 1 + place
        tx.defer_values(Q.insert_message, message.id, turn.session_id, message.role, message.metadata, at)
        turn.add(tx, "message", message.id, message.client_id, message.salt, message.leaf)
        for index, part in enumerate(message.parts):
            insert_part(tx, turn.session_id, message.id, index, part, at)
            turn.add(tx, "part", part.id, None, part.salt, part.leaf)


def insert_part(tx: Tx, session_id: str, message_id: str, index: int, part: NewPart, at: int) -> None:
    values = (part.id, message_id, session_id, index, part.type, part.data, part.tool_call_id, part.tool_state, at)
    tx.defer_values(Q.insert_part, *values)


def use_free_id(tx: Tx, message: NewMessage) -> None:
    """A well-formed id that nobody has becomes the row's own; any other stays what the client calls it."""
    if ids.is_ours(ids.MESSAGE, message.client_id) and not tx.one(Q.message_is_taken, id=message.client_id):
        assert message.client_id is not None
        message.id, message.client_id = message.client_id, None


def _insert_entry(tx: Tx, turn_id: str, entry: Entry) -> None:
    tx.defer_values(Q.insert_entry, turn_id, entry.seq, entry.kind, entry.ref, entry.client_id, entry.salt, entry.leaf)


def record_event(tx: Tx, head: Head, kind: str, turn: OpenTurn | None, data: Any) -> None:
    begin_seq = turn.begin_seq if turn else None
    tx.defer_values(Q.insert_event, head.session_id, head.event_seq, kind, begin_seq, exact_json.encode(data), now_ms())


def sealed_error(tx: Tx, turn_id: str) -> TurnSealed | TurnNotFound:
    row = tx.one(Q.get_turn, turn=turn_id)
    if row is None:
        return TurnNotFound(turn_id)
    status = row[4] if row[8] is not None else f"{row[4]}, taken over by another writer"
    return TurnSealed(turn_id, status)


# ---------------------------------------------------------------- from the rows again


def load(tx: Tx, turn_id: str) -> OpenTurn:
    """An open turn as its rows and events tell it, whoever wrote them. A sealed one comes without its fold."""
    row = tx.one(Q.get_turn, turn=turn_id)
    if row is None:
        raise TurnNotFound(turn_id)
    facts = exact_json.parse(row[23])
    if not isinstance(facts, dict):
        raise BadValue(f"the facts of turn {turn_id} are no object")
    turn = OpenTurn(row[0], row[2], row[1], heads.thread_of(tx, row[1]), row[5], row[19], row[3], facts=facts)
    turn.status, turn.fence, turn.response_id = row[4], row[21], row[10]
    turn.usage, turn.cost, turn.told = Usage(*row[11:16]), row[16], bool(row[22])
    turn.entries = [Entry(*line) for line in tx.all(Q.entries_of, turn=turn_id)]
    turn.messages = sum(e.kind == "message" for e in turn.entries)
    if turn.response_id is not None:
        turn.part_ids = [p[0] for p in tx.all(Q.parts_of_message, message=turn.response_id)]
        for part_id in turn.part_ids[-1:]:
            ids.observe(part_id)  # the parts that follow sort after it, whoever wrote it
    if row[8] is not None:
        return turn
    turn.chunks = replay(turn.fold, tx.all(Q.events_of_turn, session=turn.session_id, begin_seq=turn.begin_seq))
    return turn


def replay(fold: Fold, events: list[tuple[Any, ...]]) -> int:
    """Apply a turn's events to its fold; how many chunks there were."""
    count = 0
    for _, kind, data, _ in events:
        if kind == "chunk":
            fold.apply(chunks.parse(data)[0])
            count += 1
        elif kind == "resolve":
            fold.resolve(**resolution(exact_json.open_object(data)))
    return count


def resolution(data: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `Fold.resolve` from a stored `resolve` event; the output keeps its bytes."""
    return {k: v if k == "output" else exact_json.parse(v) for k, v in data.items()}
