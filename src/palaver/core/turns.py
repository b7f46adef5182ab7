"""Turns: begin one, keep what streams into it, seal it.

An `OpenTurn` is the working tree of one turn: the entries written so far, the fold of its chunks, and what is
needed to freeze it. The process that streams into a turn holds it in memory; recovery and `resume` rebuild it from
the rows and events.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import canonical, chunks, ids
from ..clock import now_ms
from ..db.database import Tx
from ..db.queries import Q
from ..errors import TurnNotFound, TurnSealed
from ..folding import MISSING, Fold
from ..model import SEALED, Usage
from . import digests, heads, metadata
from .heads import Head, Thread
from .rows import NewMessage, NewPart, tool_columns

INTERRUPTED = "interrupted"
NOTHING = Usage()


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

    @property
    def given_metadata(self) -> str:
        """The response's metadata without the keys we own: what its leaf covers."""
        value = self.fold.metadata
        return "{}" if value is MISSING else canonical.dump(value)

    @property
    def row_usage(self) -> str | None:
        return self.usage.json() if self.told else None


def new_fold(facts: dict[str, Any]) -> Fold:
    """The fold of a response that starts with the metadata its turn was begun with."""
    start = facts.get("metadata")
    message: dict[str, Any] = {"id": "", "role": "assistant", "parts": []}
    if start:
        message["metadata"] = dict(start)
    return Fold(message, resets=False)


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
) -> OpenTurn:
    """A new open turn whose parent is the head. `references` list messages that were written in other turns."""
    thread = heads.thread_of(tx, head.turn_id)
    turn = OpenTurn(
        ids.mint(ids.TURN), head.session_id, head.turn_id, thread, head.revision, head.event_seq, facts=facts
    )
    tx.later(
        Q.insert_turn,
        id=turn.id,
        parent=turn.parent_id,
        session=turn.session_id,
        revision=turn.base_revision,
        begin_seq=turn.begin_seq,
        kind=turn.kind,
        status=status,
        owner=owner,
        now=head.last_at,
        depth=thread.depth + 1,
        thread_tokens=thread.tokens,
        thread_messages=thread.messages,
        facts=canonical.encode(facts),
    )
    for entry in references or ():
        turn.add(tx, entry.kind, entry.ref, entry.client_id, entry.salt, entry.leaf)
    write_messages(tx, turn, prepared, last_at=head.last_at)
    record_event(tx, head, "begin", turn, {"turn": turn.id, "parent": turn.parent_id})
    return turn


def write_messages(tx: Tx, turn: OpenTurn, prepared: list[NewMessage], *, last_at: int) -> None:
    """Rows and lines of messages that are whole. Their created_at values end at `last_at`."""
    for place, message in enumerate(prepared):
        _use_free_id(tx, message)
        at = last_at - len(prepared) + 1 + place
        tx.later(
            Q.insert_message,
            id=message.id,
            session=turn.session_id,
            role=message.role,
            metadata=message.metadata,
            at=at,
        )
        turn.add(tx, "message", message.id, message.client_id, message.salt, message.leaf)
        for index, part in enumerate(message.parts):
            insert_part(tx, turn.session_id, message.id, index, part, at)
            turn.add(tx, "part", part.id, None, part.salt, part.leaf)


def insert_part(tx: Tx, session_id: str, message_id: str, index: int, part: NewPart, at: int) -> None:
    tx.later(
        Q.insert_part,
        id=part.id,
        message=message_id,
        session=session_id,
        place=index,
        type=part.type,
        data=part.data,
        call=part.tool_call_id,
        state=part.tool_state,
        at=at,
    )


def _use_free_id(tx: Tx, message: NewMessage) -> None:
    """A well-formed id that nobody has becomes the row's own; any other stays what the client calls it."""
    if ids.is_ours(ids.MESSAGE, message.client_id) and not tx.one(Q.message_is_taken, id=message.client_id):
        assert message.client_id is not None
        message.id, message.client_id = message.client_id, None


def _insert_entry(tx: Tx, turn_id: str, entry: Entry) -> None:
    tx.later(
        Q.insert_entry,
        turn=turn_id,
        seq=entry.seq,
        kind=entry.kind,
        ref=entry.ref,
        client=entry.client_id,
        salt=entry.salt,
        leaf=entry.leaf,
    )


def record_event(tx: Tx, head: Head, kind: str, turn: OpenTurn | None, data: Any) -> None:
    tx.later(
        Q.insert_event,
        session=head.session_id,
        seq=head.event_seq,
        kind=kind,
        turn=turn.begin_seq if turn else None,
        data=canonical.encode(data),
        at=now_ms(),
    )


# ---------------------------------------------------------------- the response


def open_response(tx: Tx, turn: OpenTurn) -> int:
    """The assistant's row, made with its first chunk. Returns the event number reserved for that chunk."""
    head = heads.take(tx, turn.session_id, stamps=1, events=1)
    heads.refuse_gone(head)
    given = turn.fold.id
    free = ids.is_ours(ids.MESSAGE, given) and not tx.one(Q.message_is_taken, id=given)
    response = given if free else ids.mint(ids.MESSAGE)
    if tx.run(Q.set_response, response=response, turn=turn.id, fence=turn.fence) != 1:
        raise sealed_error(tx, turn.id)
    hidden = None if head.revision == turn.base_revision else head.last_at
    turn.saved_metadata = (turn.given_metadata, turn.row_usage)
    text = metadata.dress(turn.given_metadata, usage=turn.row_usage, hidden_at=hidden)
    tx.later(
        Q.insert_message,
        id=response,
        session=turn.session_id,
        role="assistant",
        metadata=text,
        at=head.last_at,
    )
    turn.add(tx, "message", response, None if free else given or None)
    turn.response_id = response
    return head.event_seq


def rename_response(tx: Tx, turn: OpenTurn) -> None:
    """A `start` that came later says what the client calls the message."""
    line = next(e for e in turn.entries if e.kind == "message" and e.ref == turn.response_id)
    known_as = turn.fold.id if turn.fold.id and turn.fold.id != line.ref else None
    if known_as != line.client_id:
        line.client_id = known_as
        tx.later(Q.set_client_id, turn=turn.id, seq=line.seq, client=known_as)


def write_part(tx: Tx, turn: OpenTurn, index: int) -> str:
    """Bring a part's row up to the fold; a new part gets its row."""
    for missing in range(len(turn.part_ids), index):
        _insert_row(tx, turn, missing)
    if index == len(turn.part_ids):
        return _insert_row(tx, turn, index)
    part = turn.fold.part(index)
    data = canonical.dump(part)
    if turn.rows.get(index) != hash(data):
        canonical.refuse_depth(data)
        call, state = tool_columns(part)
        params = {"id": turn.part_ids[index], "type": part["type"], "data": data, "call": call, "state": state}
        tx.later(Q.update_part, now=now_ms(), **params)
        turn.rows[index] = hash(data)
    return data


def _insert_row(tx: Tx, turn: OpenTurn, index: int) -> str:
    assert turn.response_id is not None
    part = turn.fold.part(index)
    data = canonical.dump(part)
    canonical.refuse_depth(data)
    call, state = tool_columns(part)
    row_id = ids.mint(ids.PART)
    tx.later(
        Q.insert_streamed_part,
        id=row_id,
        message=turn.response_id,
        session=turn.session_id,
        place=index,
        type=part["type"],
        data=data,
        call=call,
        state=state,
        at=now_ms(),
    )
    turn.part_ids.append(row_id)
    turn.rows[index] = hash(data)
    return data


def write_metadata(tx: Tx, turn: OpenTurn) -> None:
    """Bring the response's metadata up to the fold, and count usage that arrived in it."""
    _count_metadata_usage(tx, turn)
    if turn.response_id is None or turn.saved_metadata == (turn.given_metadata, turn.row_usage):
        return
    turn.saved_metadata = (turn.given_metadata, turn.row_usage)
    row = tx.one(Q.get_message, id=turn.response_id)
    if row is None:  # another program removed the row; verify says so
        return
    hidden = metadata.hidden_stamp(row[3])
    text = metadata.dress(turn.given_metadata, usage=turn.row_usage, hidden_at=hidden)
    if text != row[3]:
        tx.later(Q.set_message_metadata, id=turn.response_id, metadata=text, now=now_ms())


def _count_metadata_usage(tx: Tx, turn: OpenTurn) -> None:
    """`messageMetadata.usage` is the whole usage so far: only what is new is added. It wins over what we were told."""
    if turn.fold.metadata is MISSING:
        return
    given = Usage.from_metadata(canonical.parse(turn.given_metadata))
    if given is None:
        return
    if given != turn.usage or turn.told:
        turn.told = False
        count_usage(tx, turn, given, turn.cost)


def set_usage(tx: Tx, turn: OpenTurn, usage: Usage, cost: float) -> None:
    turn.usage, turn.cost = usage, cost
    tx.later(Q.set_usage, turn=turn.id, **_usage_params(usage), cost=cost, told=int(turn.told))


def count_usage(tx: Tx, turn: OpenTurn, usage: Usage, cost: float) -> None:
    """Set the turn's usage and add the difference to the session's rollups."""
    more = usage - turn.usage
    tx.later(
        Q.add_usage,
        session=turn.session_id,
        **_usage_params(more),
        total=more.total,
        cost=cost - turn.cost,
        now=now_ms(),
    )
    set_usage(tx, turn, usage, cost)


def _usage_params(usage: Usage) -> dict[str, int]:
    return {
        "input": usage.input,
        "output": usage.output,
        "reasoning": usage.reasoning,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
    }


def has_caller_usage(turn: OpenTurn) -> bool:
    return not turn.told and turn.usage != Usage()


# ---------------------------------------------------------------- seal


def freeze(tx: Tx, turn: OpenTurn, status: str, before_digest: Callable[[], None] | None = None) -> None:
    """Everything a seal writes except the head: final rows, leaves, digest. The caller knows that the turn is open."""
    assert status in SEALED
    close_parts(turn, status)
    write_metadata(tx, turn)
    _fill_response(tx, turn)
    if before_digest is not None:
        before_digest()
    digest = digests.turn(turn.thread.digest, turn.kind, [e.leaf for e in turn.entries if e.leaf is not None])
    tx.later(
        Q.seal_turn,
        turn=turn.id,
        status=status,
        now=now_ms(),
        digest=digest,
        thread_tokens=turn.thread.tokens + turn.usage.total,
        thread_messages=turn.thread.messages + turn.messages,
        facts=canonical.encode(turn.facts),
        fence=turn.fence,
    )
    turn.status = status


def close_parts(turn: OpenTurn, status: str) -> None:
    """No tool call stays open for ever: what has no result gets one that says so."""
    turn.fold.close(INTERRUPTED, text_state=status != "completed")


def _fill_response(tx: Tx, turn: OpenTurn) -> None:
    if turn.response_id is None:
        return
    line = next(e for e in turn.entries if e.kind == "message" and e.ref == turn.response_id)
    line.salt = digests.new_salt()
    line.leaf = digests.leaf(line.salt, "assistant", turn.given_metadata)
    tx.later(Q.fill_entry, turn=turn.id, seq=line.seq, salt=line.salt, leaf=line.leaf)
    for index, part in enumerate(turn.fold.parts):
        data = write_part(tx, turn, index)
        salt = digests.new_salt()
        turn.add(tx, "part", turn.part_ids[index], None, salt, digests.leaf(salt, part["type"], data))


def land(tx: Tx, head: Head, turn: OpenTurn, *, kind: str, reason: str | None = None) -> Head:
    """Put a frozen turn on the path: the compare-and-swap of the head from its parent to it."""
    touch(tx, turn)
    return heads.move(tx, head, turn.id, kind=kind, reason=reason)


def touch(tx: Tx, turn: OpenTurn) -> None:
    """The session is younger now, and its model is this turn's."""
    model = turn.facts.get("model")
    if model is None:
        tx.later(Q.touch_session, session=turn.session_id, now=now_ms())
    else:
        tx.later(Q.touch_session_model, session=turn.session_id, now=now_ms(), model=canonical.encode(model))


def set_adrift(tx: Tx, head: Head, turn: OpenTurn) -> None:
    """A frozen turn that no head points at: a stray. Its rows are hidden, its event can be found again."""
    for message_id, text in tx.all(Q.home_messages_of_turn, turn=turn.id, session=turn.session_id):
        if not metadata.is_hidden(text) and not _is_listed_elsewhere(tx, head, message_id, turn.id):
            tx.later(Q.set_message_metadata, id=message_id, metadata=metadata.hide(text, now_ms()), now=now_ms())
    record_event(tx, head, "stray", turn, {"turn": turn.id, "status": turn.status})


def _is_listed_elsewhere(tx: Tx, head: Head, message_id: str, turn_id: str) -> bool:
    """On the head's path, or in an open turn that stands on the head: then it stays visible."""
    others = [row[0] for row in tx.all(Q.turns_of_message, message=message_id) if row[0] != turn_id]
    if not others:
        return False
    visible = {row[0] for row in tx.all(Q.path, turn=head.turn_id)}
    visible |= {row[0] for row in tx.all(Q.open_turns, session=head.session_id) if row[1] == head.revision}
    return any(other in visible for other in others)


def sealed_error(tx: Tx, turn_id: str) -> TurnSealed | TurnNotFound:
    row = tx.one(Q.get_turn, turn=turn_id)
    if row is None:
        return TurnNotFound(turn_id)
    status = row[4] if row[8] is not None else f"{row[4]}, taken over by another writer"
    return TurnSealed(turn_id, status)


# ---------------------------------------------------------------- whole turns


def commit(
    tx: Tx,
    head: Head,
    lines: list[Entry],
    prepared: list[NewMessage],
    *,
    kind: str = "turn",
    status: str = "completed",
    parent_id: str | None,
    turn_id: str | None = None,
    facts: dict[str, Any] | None = None,
    counted: Usage = NOTHING,
) -> OpenTurn:
    """A turn that is written and sealed in one transaction. The caller moves the head, or does not. `counted` is usage
    of the lines that is in the session's sums already."""
    thread = heads.thread_of(tx, parent_id)
    new = turn_id or ids.mint(ids.TURN)
    turn = OpenTurn(new, head.session_id, parent_id, thread, head.revision, head.event_seq, kind, facts)
    for entry in lines:
        turn.add(tx, entry.kind, entry.ref, entry.client_id, entry.salt, entry.leaf)
    write_messages(tx, turn, prepared, last_at=head.last_at)
    new_usage = _usage_of(prepared)
    usage = new_usage + counted
    response = _last_assistant(prepared) or _last_listed_answer(tx, lines)
    digest = digests.turn(thread.digest, kind, [e.leaf for e in turn.entries if e.leaf is not None])
    tx.later(
        Q.insert_sealed_turn,
        id=turn.id,
        parent=parent_id,
        session=turn.session_id,
        revision=turn.base_revision,
        begin_seq=turn.begin_seq,
        kind=kind,
        status=status,
        now=head.last_at,
        digest=digest,
        depth=thread.depth + 1,
        thread_tokens=thread.tokens + usage.total,
        thread_messages=thread.messages + turn.messages,
        response=response,
        **_usage_params(usage),
        cost=0.0,
        told=0,
        facts=canonical.encode(turn.facts),
    )
    if new_usage != NOTHING:
        tx.later(
            Q.add_usage,
            session=turn.session_id,
            **_usage_params(new_usage),
            total=new_usage.total,
            cost=0.0,
            now=now_ms(),
        )
    turn.status, turn.digest, turn.usage = status, digest, usage
    turn.response_id, turn.at = response, head.last_at
    return turn


def _usage_of(prepared: list[NewMessage]) -> Usage:
    total = Usage()
    for message in prepared:
        if message.role == "assistant" and '"usage"' in message.metadata:
            total += Usage.from_metadata(canonical.parse(message.metadata)) or Usage()
    return total


def _last_assistant(prepared: list[NewMessage]) -> str | None:
    return next((m.id for m in reversed(prepared) if m.role == "assistant"), None)


def _last_listed_answer(tx: Tx, lines: list[Entry]) -> str | None:
    for entry in reversed(lines):
        row = tx.one(Q.get_message, id=entry.ref) if entry.kind == "message" else None
        if row is not None and row[2] == "assistant":
            return entry.ref
    return None


# ---------------------------------------------------------------- from the rows again


def load(tx: Tx, turn_id: str) -> OpenTurn:
    """An open turn as its rows and events tell it, whoever wrote them. A sealed one comes without its fold."""
    row = tx.one(Q.get_turn, turn=turn_id)
    if row is None:
        raise TurnNotFound(turn_id)
    facts = canonical.parse(row[23])
    turn = OpenTurn(row[0], row[2], row[1], heads.thread_of(tx, row[1]), row[5], row[19], row[3], facts=facts)
    turn.status, turn.fence, turn.response_id = row[4], row[21], row[10]
    turn.usage, turn.cost, turn.told = Usage(*row[11:16]), row[16], bool(row[22])
    turn.entries = [Entry(*line) for line in tx.all(Q.entries_of, turn=turn_id)]
    turn.messages = sum(e.kind == "message" for e in turn.entries)
    if turn.response_id is not None:
        turn.part_ids = [p[0] for p in tx.all(Q.parts_of_message, message=turn.response_id)]
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
            fold.resolve(**resolution(canonical.open_object(data)))
    return count


def resolution(data: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `Fold.resolve` from a stored `resolve` event; the output keeps its bytes."""
    return {k: v if k == "output" else canonical.parse(v) for k, v in data.items()}
