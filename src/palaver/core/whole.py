"""A turn that comes whole: written, sealed and on the path in one transaction, or nothing at all.

Mostly nothing is in the way, and one statement is lock, clock, compare-and-swap and move at once. If something is
(open turns, rows of another program, an archive, a conflict), the transaction starts again the careful way.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import canonical, ids, permissions
from ..clock import now_ms
from ..db.database import Tx
from ..db.queries import Q
from ..model import TurnInfo
from . import digests, heads, loose, prelude, previews, sealing, triggers, turns, visibility
from .heads import Head, Thread
from .prelude import Room
from .rows import NewMessage
from .tips import Tip
from .turns import NOTHING, OpenTurn

assert Q.advance_head.names == ("turn", "now", "session", "stamps", "preview", "expected")
assert Q.insert_sealed_turn.names == (
    *("id", "parent", "session", "revision", "begin_seq", "kind", "status", "now", "digest", "depth", "thread_tokens"),
    *("thread_messages", "response", "input", "output", "reasoning", "cache_read", "cache_write", "cost", "told"),
    "facts",
)
_RESOLVED = {None, "output-available", "output-error", "output-denied"}


class InTheWay(Exception):
    """Something needs a closer look; nothing of this transaction may stay."""


class Whole(NamedTuple):
    session_id: str
    messages: list[NewMessage]
    expected: int | None
    facts: dict[str, Any]
    preview: str | None
    rules: list[dict[str, Any]] | None = None  # of the host; the session's own are added

    def under(self, stored: str | None) -> Whole:
        """With a snapshot of the permissions in force, where there are any."""
        own = permissions.usable(canonical.parse(stored)) if stored is not None and stored != "[]" else []
        granted = [*(self.rules or ()), *own]
        return self._replace(facts=self.facts | {"permissions_granted": granted}) if granted else self


def commit_fast(tx: Tx, room: Room, given: Whole) -> tuple[TurnInfo, Tip]:
    """The path that most appends take: every call on it counts, so it is written out."""
    session_id, turn_id, stamps = given.session_id, ids.mint(ids.TURN), len(given.messages)
    found = tx.take(Q.advance_head, turn_id, now_ms(), session_id, stamps, given.preview, given.expected)
    if not found:
        raise InTheWay
    parent_id, revision, seq, last_at, looked_at, rules = found[0]
    if rules != "[]" or given.rules:
        given = given.under(rules)
    head = Head(session_id, turn_id, revision, seq, last_at, looked_at, None, None, 0)
    if not room.looks.is_fresh(session_id, tx.generation()) and loose.look(tx, head, room.looks):
        raise InTheWay
    thread, link = room.tips.find(tx, session_id, parent_id, seq - 1)
    if given.facts:
        triggers.deliver(tx, session_id, turn_id, given.facts.get("trigger"), triggers.payload(given.messages))
    turn = _Sealed(turn_id, parent_id, session_id, revision - 1, seq, thread)
    turn.write(tx, given, last_at)
    link = heads.log_advance(tx, head, link, kind="seal")
    return turn.info(last_at), Tip(turn_id, seq, link, turn.after)


class _Sealed:
    """A turn of whole messages that is sealed as it is written."""

    __slots__ = (
        "after",
        "answer",
        "base",
        "digest",
        "id",
        "parent_id",
        "seq",
        "session_id",
        "status",
        "thread",
        "usage",
    )

    def __init__(self, id: str, parent_id: str | None, session_id: str, base: int, seq: int, thread: Thread) -> None:
        self.id = id
        self.parent_id = parent_id
        self.session_id = session_id
        self.base = base
        self.seq = seq
        self.thread = thread

    def write(self, tx: Tx, given: Whole, at: int) -> None:
        messages, facts, thread = given.messages, given.facts, self.thread
        self.digest = digests.turn(thread.digest, "turn", self._write_rows(tx, messages, at - len(messages)))
        self.status, self.usage = _status(messages), sealing.usage_of(messages)
        self.answer = sealing.last_assistant(messages)
        tokens = thread.tokens + self.usage.total if self.usage is not NOTHING else thread.tokens
        self.after = Thread(self.digest, thread.depth + 1, tokens, thread.messages + len(messages))
        tx.put(
            Q.insert_sealed_turn,
            *(self.id, self.parent_id, self.session_id, self.base, self.seq, "turn", self.status, at, *self.after),
            *(self.answer, *self.usage.counts(), 0.0, 0, canonical.encode(facts) if facts else "{}"),
        )
        if self.usage is not NOTHING:
            sealing.add_usage(tx, self.session_id, self.usage)
        sealing.touch(tx, self.session_id, facts)

    def _write_rows(self, tx: Tx, messages: list[NewMessage], at: int) -> list[bytes]:
        turn_id, session_id, put, leaves = self.id, self.session_id, tx.put, list[bytes]()
        for message in messages:
            at += 1
            turns.use_free_id(tx, message)
            home = message.id
            put(Q.insert_message, home, session_id, message.role, message.metadata, at)
            put(Q.insert_entry, turn_id, len(leaves), "message", home, message.client_id, message.salt, message.leaf)
            leaves.append(message.leaf)
            for place, part in enumerate(message.parts):
                turns.insert_part(tx, session_id, home, place, part, at)
                put(Q.insert_entry, turn_id, len(leaves), "part", part.id, None, part.salt, part.leaf)
                leaves.append(part.leaf)
        return leaves

    def info(self, at: int) -> TurnInfo:
        digest, depth, tokens, count = self.after
        return TurnInfo(
            *(self.id, self.parent_id, self.session_id, "turn", self.status, self.base, depth, at, at, digest),
            *(self.answer, self.usage, 0.0, tokens, count),
        )


def commit_carefully(tx: Tx, room: Room, given: Whole) -> TurnInfo:
    head = prelude.ready(
        tx,
        room,
        given.session_id,
        expected=given.expected,
        stamps=len(given.messages),
        preview=given.preview,
        moving_on=True,
    )
    row = tx.one(Q.get_permissions, session=given.session_id)
    given = given.under(row[0] if row else None)
    beside = loose.find(tx, given.session_id, max(0, head.looked_at - loose.MARGIN_MS)) if head.open_turns else []
    lines = [line for message in beside for line in loose.lines_of(tx, message)]
    turn = sealing.commit(
        tx,
        head,
        lines,
        given.messages,
        parent_id=head.turn_id,
        facts=given.facts,
        status=_status(given.messages),
        counted=loose.usage_of(beside),
    )
    triggers.deliver(tx, turn.session_id, turn.id, given.facts.get("trigger"), triggers.payload(given.messages))
    head = sealing.land(tx, head, turn, kind="seal")
    if beside:
        tx.later(Q.set_preview, session=given.session_id, preview=previews.recompute(tx, given.session_id))
    if head.open_turns:
        visibility.hide_open_turns(tx, head)
    return _info(turn)


def _status(prepared: list[NewMessage]) -> str:
    """A turn is not completed while a tool call in it has no result."""
    resolved = all(part.tool_state in _RESOLVED for message in prepared for part in message.parts)
    return "completed" if resolved else "aborted"


def _info(turn: OpenTurn) -> TurnInfo:
    return TurnInfo(
        id=turn.id,
        parent_id=turn.parent_id,
        session_id=turn.session_id,
        kind=turn.kind,
        status=turn.status,
        base_revision=turn.base_revision,
        depth=turn.thread.depth + 1,
        started_at=turn.at,
        sealed_at=turn.at,
        digest=turn.digest,
        response_id=turn.response_id,
        usage=turn.usage,
        cost_usd=turn.cost,
        thread_tokens=turn.thread.tokens + turn.usage.total,
        thread_messages=turn.thread.messages + turn.messages,
    )
