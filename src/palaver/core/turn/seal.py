"""Sealing: final rows, leaves and digest; then the turn lands on the path, or is set adrift as a stray.

`commit` writes a turn that comes whole, sealed from the start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base import exact_json, ids
from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from ...model import SEALED, Usage, add_up
from .. import counting, digests, heads, metadata
from ..heads import Head, Thread
from . import response
from .message_input import NewMessage
from .open_turn import NOTHING, Entry, OpenTurn, record_event, write_messages

INTERRUPTED = "interrupted"
assert Q.seal_turn.names == (
    *("status", "now", "digest", "thread_tokens", "thread_messages", "facts", "chunks", "turn", "fence"),
)
assert Q.fill_entry.names == ("salt", "leaf", "turn", "seq")
assert Q.touch_session.names == ("now", "session")


def freeze(tx: Tx, turn: OpenTurn, status: str, before_digest: Callable[[], None] | None = None) -> Thread:
    """Everything a seal writes except the head: final rows, leaves, digest; what the next turn inherits. The caller
    knows that the turn is open."""
    assert status in SEALED
    close_parts(turn, status)
    response.write_metadata(tx, turn)
    _fill_response(tx, turn)
    if before_digest is not None:
        before_digest()
    before = turn.thread
    digest = digests.turn(before.digest, turn.kind, [e.leaf for e in turn.entries if e.leaf is not None])
    tokens = add_up((before.tokens, turn.usage.total))
    thread = Thread(digest, before.depth + 1, tokens, before.messages + turn.messages)
    facts = exact_json.encode(turn.facts) if turn.facts else "{}"
    tx.defer_values(
        Q.seal_turn,
        *(status, now_ms(), digest, thread.tokens, thread.messages, facts, turn.chunks, turn.id, turn.fence),
    )
    turn.status = status
    return thread


def close_parts(turn: OpenTurn, status: str) -> None:
    """No tool call stays open for ever: what has no result gets one that says so."""
    turn.fold.close(INTERRUPTED, text_state=status != "completed")


def _fill_response(tx: Tx, turn: OpenTurn) -> None:
    if turn.response_id is None:
        return
    line = next(e for e in turn.entries if e.kind == "message" and e.ref == turn.response_id)
    line.salt = digests.new_salt()
    line.leaf = digests.leaf(line.salt, "assistant", turn.given_metadata)
    tx.defer_values(Q.fill_entry, line.salt, line.leaf, turn.id, line.seq)
    for index, part in enumerate(turn.fold.parts):
        data = response.write_part(tx, turn, index)
        if data is None:
            data = response.part_text(turn, index)
        salt = digests.new_salt()
        turn.add(tx, "part", turn.part_ids[index], None, salt, digests.leaf(salt, part["type"], data))


def advance_head(tx: Tx, head: Head, turn: OpenTurn, *, kind: str, reason: str | None = None) -> Head:
    """Put a frozen turn on the path: the compare-and-swap of the head from its parent to it."""
    touch(tx, turn.session_id, turn.facts, now_ms())
    return heads.move(tx, head, turn.id, kind=kind, reason=reason)


def touch(tx: Tx, session_id: str, facts: dict[str, Any], now: int) -> None:
    """The session is younger now, and its model is that of its newest turn."""
    model = facts.get("model")
    if model is None:
        tx.defer_values(Q.touch_session, now, session_id)
    else:
        tx.defer(Q.touch_session_model, session=session_id, now=now, model=exact_json.encode(model))


def mark_stray(tx: Tx, head: Head, turn: OpenTurn) -> None:
    """A frozen turn that no head points at: a stray. Its rows are hidden, its event can be found again."""
    for row_id, message_id, text in tx.all(Q.standing_rows, turn=turn.id, session=turn.session_id):
        if not metadata.is_hidden(text) and not _is_listed_elsewhere(tx, head, message_id, turn.id):
            hidden = metadata.hide(text, now_ms())
            if hidden != text:
                tx.defer(Q.set_message_metadata, id=row_id, metadata=hidden, now=now_ms())
    record_event(tx, head, "stray", turn, {"turn": turn.id, "status": turn.status})


def _is_listed_elsewhere(tx: Tx, head: Head, message_id: str, turn_id: str) -> bool:
    """On the head's path, or in an open turn that stands on the head: then it stays visible."""
    others = [row[0] for row in tx.all(Q.turns_of_message, message=message_id) if row[0] != turn_id]
    if not others:
        return False
    visible = {row[0] for row in tx.all(Q.path, turn=head.turn_id)}
    visible |= {row[0] for row in tx.all(Q.open_turns, session=head.session_id) if row[1] == head.revision}
    return any(other in visible for other in others)


def commit(
    tx: Tx,
    head: Head,
    lines: list[Entry],
    prepared: list[NewMessage],
    *,
    kind: str = "turn",
    status: str = "completed",
    parent_id: str | None,
    facts: dict[str, Any] | None = None,
    counted: Usage = NOTHING,
) -> OpenTurn:
    """A turn that is written and sealed in one transaction. The caller moves the head, or does not. `counted` is usage
    of the lines that is in the session's sums already."""
    thread = heads.thread_of(tx, parent_id)
    turn = OpenTurn(ids.mint(ids.TURN), head.session_id, parent_id, thread, head.revision, head.event_seq, kind, facts)
    for entry in lines:
        turn.add(tx, entry.kind, entry.ref, entry.client_id, entry.salt, entry.leaf)
    write_messages(tx, turn, prepared, last_at=head.last_at)
    new_usage = usage_of(prepared)
    usage = new_usage + counted
    answer = last_assistant(prepared) or _last_listed_answer(tx, lines)
    digest = digests.turn(thread.digest, kind, [e.leaf for e in turn.entries if e.leaf is not None])
    tx.defer(
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
        thread_tokens=add_up((thread.tokens, usage.total)),
        thread_messages=thread.messages + turn.messages,
        response=answer,
        **usage.columns(),
        cost=0.0,
        told=0,
        facts=exact_json.encode(turn.facts),
    )
    if new_usage != NOTHING:
        counting.refuse_overflow(tx, turn.session_id, thread, counted, new_usage)
        add_usage(tx, turn.session_id, new_usage)
    turn.status, turn.digest, turn.usage = status, digest, usage
    turn.response_id, turn.at = answer, head.last_at
    return turn


def add_usage(tx: Tx, session_id: str, usage: Usage) -> None:
    """Tokens that came with whole messages enter the session's sums."""
    columns = usage.columns()
    tx.defer(Q.add_usage, session=session_id, **columns, total=usage.total, cost=0.0, now=now_ms())


def usage_of(prepared: list[NewMessage]) -> Usage:
    total = NOTHING
    for message in prepared:
        if message.role == "assistant" and '"usage"' in message.metadata:
            total += Usage.from_metadata(exact_json.parse(message.metadata)) or Usage()
    return total


def last_assistant(prepared: list[NewMessage]) -> str | None:
    return next((m.id for m in reversed(prepared) if m.role == "assistant"), None)


def _last_listed_answer(tx: Tx, lines: list[Entry]) -> str | None:
    for entry in reversed(lines):
        row = tx.one(Q.get_message, id=entry.ref) if entry.kind == "message" else None
        if row is not None and row[2] == "assistant":
            return entry.ref
    return None
