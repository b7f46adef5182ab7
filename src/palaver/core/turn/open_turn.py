"""An open turn: what it holds, how it is begun, and how it is made again from its rows.

An `OpenTurn` is the working tree of one turn: the entries written so far, the fold of its chunks, and what is
needed to freeze it. The process that streams into a turn holds it in memory; recovery and `resume` rebuild it from
the rows and events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...aisdk.folding import MISSING, Fold
from ...aisdk.parts import FINAL
from ...base import exact_json, ids
from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import TurnNotFound, TurnSealed, TurnStopped
from ...model import Usage
from .. import facts as turn_facts
from .. import metadata, rows
from ..facts import TurnFacts, stored
from ..read import entries, jumps, turns
from ..read.entries import Entry
from ..read.heads import Head, Thread, thread_of
from ..read.replay import new_fold, replay
from .message_input import NewMessage, NewPart

NOTHING = Usage()
assert Q.insert_message.names == ("id", "session", "role", "metadata", "at")
assert Q.insert_part.names == ("id", "message", "session", "place", "type", "data", "call", "state", "at")
assert Q.insert_entry.names == ("turn", "seq", "kind", "ref", "client", "salt", "leaf")
assert Q.insert_turn.names == (
    *("id", "parent", "session", "revision", "begin_seq", "kind", "status", "owner", "now", "depth", "thread_tokens"),
    *("thread_messages", "facts", "jump", "thread_results", "thread_calls", *turn_facts.COLUMNS),
)
assert Q.insert_event.names == ("session", "seq", "kind", "turn", "data", "at")


class Tools(NamedTuple):
    """Tool calls, and how many of them have a result."""

    calls: int
    results: int


NO_TOOLS = Tools(0, 0)


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
        facts: TurnFacts | None = None,
    ) -> None:
        self.id = id
        self.session_id = session_id
        self.parent_id = parent_id
        self.thread = thread
        self.base_revision = base_revision
        self.begin_seq = begin_seq
        self.kind = kind
        self.facts: TurnFacts = facts or {}
        self.status = "streaming"
        self.fence = 1
        self.entries: list[Entry] = []
        self.response_id: str | None = None
        self._fold: Fold | None = None
        self.part_ids: list[str] = []
        self.rows: dict[int, int] = {}  # part -> hash of what its row holds
        self.saved_metadata: tuple[str, str | None] | None = None
        self.usage = Usage()
        self.cost = 0.0
        self.told = False
        self.chunks = 0
        self.counted: Usage | None = None  # what the usage row of its response's metadata says
        self.has_usage_rows = True  # False: it was begun before there were any
        self.given = NO_TOOLS  # tool calls that it lists beside those of its response

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
        entry = write_entry(tx, self.id, len(self.entries), Entry(0, kind, ref, client_id, salt, leaf))
        self.entries.append(entry)
        return entry

    def drop_entries(self, tx: Tx) -> None:
        """Take all of them back, to be written anew in another order."""
        self.entries = []
        tx.defer(Q.drop_entries, turn=self.id)

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
        return "{}" if value is MISSING else exact_json.dump(value)

    @property
    def row_usage(self) -> str | None:
        return self.usage.json() if self.told else None


# ---------------------------------------------------------------- begin


def begin(
    tx: Tx,
    head: Head,
    prepared: list[NewMessage],
    *,
    owner: str | None,
    facts: TurnFacts,
    references: list[Entry] | None = None,
    thread: Thread | None = None,
    status: str = "streaming",
) -> OpenTurn:
    """A new open turn whose parent is the head. `references` list messages that were written in other turns."""
    if thread is None:
        thread = thread_of(tx, head.turn_id)
    session_id, parent_id, revision, seq, at = head[:5]
    turn = OpenTurn(ids.mint(ids.TURN), session_id, parent_id, thread, revision, seq, facts=facts)
    turn.status = status
    tx.defer_values(
        Q.insert_turn,
        *(
            turn.id,
            parent_id,
            session_id,
            revision,
            seq,
            "turn",
            status,
            owner,
            at,
            thread.depth + 1,
            thread.tokens,
        ),
        *(thread.messages, stored(facts), jumps.id_of(jumps.of_child(tx, parent_id, thread.depth, thread.jump))),
        *(thread.results, thread.calls, *turn_facts.columns(facts)),
    )
    for entry in references or ():
        turn.add(tx, entry.kind, entry.ref, entry.client_id, entry.salt, entry.leaf)
    times = head.times(len(prepared))
    turn.entries += write_messages(tx, turn.id, session_id, prepared, times=times, first=len(turn.entries))
    turn.given = tools_listed(tx, turn.id) if references else tools_in(prepared)
    data = exact_json.dump({"turn": turn.id, "parent": parent_id})
    tx.defer_values(Q.insert_event, session_id, seq, "begin", seq, data, now_ms())
    return turn


def tools_in(messages: Sequence[NewMessage]) -> Tools:
    """The tool calls of messages that come whole."""
    states = [part.tool_state for message in messages for part in message.parts if part.tool_state is not None]
    return Tools(len(states), sum(state in FINAL for state in states)) if states else NO_TOOLS


def tools_listed(tx: Tx, turn_id: str) -> Tools:
    """Those of all entries that a turn has by now, whoever wrote what they refer to."""
    calls, results = tx.one(Q.tools_listed, turn=turn_id) or NO_TOOLS
    return Tools(calls, results)


def write_messages(
    tx: Tx,
    turn_id: str,
    session_id: str,
    messages: list[NewMessage],
    *,
    times: Sequence[int],
    first: int = 0,
    hidden_at: int | None = None,
) -> list[Entry]:
    """Rows and entries of messages that are whole. `times` are their created_at values, the entries begin at `first`.
    Most appends come through here, so each call counts."""
    put, written = tx.defer_values, list[Entry]()
    for message, at in zip(messages, times, strict=True):
        if message.client_id is not None:
            use_free_id(tx, message)
        home, seq = message.id, first + len(written)
        text = message.metadata
        if message.usage is not None or hidden_at is not None:
            text = metadata.add_owned(text, usage=message.usage, hidden_at=hidden_at)
        put(Q.insert_message, home, session_id, message.role, text, at)
        put(Q.insert_entry, turn_id, seq, "message", home, message.client_id, message.salt, message.leaf)
        written.append(Entry(seq, "message", home, message.client_id, message.salt, message.leaf))
        for place, part in enumerate(message.parts):
            seq += 1
            insert_part(tx, session_id, home, place, part, at)
            put(Q.insert_entry, turn_id, seq, "part", part.id, None, part.salt, part.leaf)
            written.append(Entry(seq, "part", part.id, None, part.salt, part.leaf))
    return written


def insert_part(tx: Tx, session_id: str, message_id: str, index: int, part: NewPart, at: int) -> None:
    values = (part.id, message_id, session_id, index, part.type, part.data, part.tool_call_id, part.tool_state, at)
    tx.defer_values(Q.insert_part, *values)


def write_entry(tx: Tx, turn_id: str, seq: int, entry: Entry) -> Entry:
    """An entry, which may be one of another turn, as the next of this one."""
    values = (entry.kind, entry.ref, entry.client_id, entry.salt, entry.leaf)
    tx.defer_values(Q.insert_entry, turn_id, seq, *values)
    return Entry(seq, *values)


def use_free_id(tx: Tx, message: NewMessage) -> None:
    """A well-formed id that nobody has becomes the row's own; any other stays what the client calls it."""
    if ids.is_ours(ids.MESSAGE, message.client_id) and not tx.one(Q.message_is_taken, id=message.client_id):
        assert message.client_id is not None
        message.id, message.client_id = message.client_id, None


def record_event(tx: Tx, head: Head, kind: str, begin_seq: int | None, data: Any) -> None:
    """An event of the session, or of its turn that began at `begin_seq`; its number is the newest that `head` has."""
    tx.defer_values(Q.insert_event, head.session_id, head.event_seq, kind, begin_seq, exact_json.encode(data), now_ms())


def sealed_error(tx: Tx, turn_id: str) -> TurnSealed | TurnNotFound:
    turn = rows.turn.one(tx, turn=turn_id)
    if turn is None:
        return TurnNotFound(turn_id)
    if turn.sealed_at is None:
        return TurnSealed(turn_id, f"{turn.status}, taken over by another writer")
    return sealed(turn_id, turn.status, turn_facts.read(turn.facts_json, turn_id))


def sealed(turn_id: str, status: str, facts: TurnFacts) -> TurnSealed:
    """The refusal of what comes after the seal; it says if somebody stopped the turn."""
    why = facts.get("stopped")
    return TurnSealed(turn_id, status) if why is None else TurnStopped(turn_id, why)


# ---------------------------------------------------------------- from the rows again


def load(tx: Tx, turn_id: str) -> OpenTurn:
    """An open turn as its rows and events tell it, whoever wrote them. A sealed one comes without its fold."""
    row = rows.turn.one(tx, turn=turn_id)
    if row is None:
        raise TurnNotFound(turn_id)
    thread, facts = thread_of(tx, row.parent_id), turn_facts.read(row.facts_json, turn_id)
    turn = OpenTurn(
        row.id, row.session_id, row.parent_id, thread, row.base_revision, row.begin_seq, row.kind, facts=facts
    )
    turn.status, turn.fence, turn.response_id = row.status, row.fence, row.response_id
    turn.usage, turn.cost, turn.told = turns.usage(row), row.cost_usd, bool(row.usage_told)
    turn.entries = entries.of_turn(tx, turn_id)
    turn.given = tools_listed(tx, turn_id)  # the parts of its response are listed by the seal
    turn.has_usage_rows = turn.usage == NOTHING or tx.one(Q.turn_has_usage, turn=turn_id) is not None
    turn.counted = turn.usage if turn.has_usage_rows and not turn.told else None
    if turn.response_id is not None:
        turn.part_ids = [part.id for part in rows.parts.all(tx, message=turn.response_id)]
        for part_id in turn.part_ids[-1:]:
            ids.observe(part_id)  # the parts that follow sort after it, whoever wrote it
    if row.sealed_at is not None:
        return turn
    turn.chunks = replay(turn.fold, tx.all(Q.events_of_turn, session=turn.session_id, begin_seq=turn.begin_seq))
    return turn
