"""A turn that comes whole: written, sealed and on the path in one transaction, or nothing at all.

Mostly nothing is in the way, and one statement is lock, clock, compare-and-swap and move at once. If something is
(open turns, rows of another program, an archive, a conflict), the transaction starts again the careful way.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ... import permissions
from ...base import exact_json, ids
from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from ...model import TurnInfo, Usage, add_up
from .. import counting, damage, digests, heads
from ..foreign import adopt, hidden_stamps
from ..heads import FastPathMissed, Head, Thread
from ..read import previews
from ..settle import preflight
from ..settle.head_cache import CachedHead
from ..settle.preflight import Runtime, refuse_loose
from ..turn import open_turn, seal, triggers
from ..turn.message_input import NewMessage
from ..turn.open_turn import NOTHING, OpenTurn

assert Q.advance_head.names == ("turn", "now", "session", "stamps", "expected")
assert Q.insert_sealed_turn.names == (
    *("id", "parent", "session", "revision", "begin_seq", "kind", "status", "now", "digest", "depth", "thread_tokens"),
    *("thread_messages", "response", "input", "output", "reasoning", "cache_read", "cache_write", "cost", "told"),
    "facts",
)
_RESOLVED = {None, "output-available", "output-error", "output-denied"}


class WholeTurn(NamedTuple):
    session_id: str
    messages: list[NewMessage]
    expected: int | None
    facts: dict[str, Any]
    rules: list[dict[str, Any]] | None = None  # of the host; the session's own are added

    def under(self, stored: str | None) -> WholeTurn:
        """With a snapshot of the permissions in force, where there are any."""
        own = permissions.usable(damage.parsed(stored) or []) if stored is not None and stored != "[]" else []
        granted = [*(self.rules or ()), *own]
        return self._replace(facts=self.facts | {"permissions_granted": granted}) if granted else self


def commit_fast(tx: Tx, runtime: Runtime, given: WholeTurn) -> tuple[TurnInfo, CachedHead]:
    """The path that most appends take: every call on it counts, so it is written out."""
    session_id, messages, turn_id, now = given.session_id, given.messages, ids.mint(ids.TURN), now_ms()
    found = tx.all_values(Q.advance_head, turn_id, now, session_id, len(messages), given.expected)
    if not found or found[0][5] is None:
        raise FastPathMissed
    parent_id, revision, seq, at, looked_at, rules, has_no_preview = found[0]
    if has_no_preview:
        previews.put(tx, session_id, messages)
    if not runtime.scans.is_fresh(session_id, tx.generation(closely=given.expected is not None)):
        head = Head(session_id, turn_id, revision, seq, at, looked_at, None, None, 0)
        refuse_loose(tx, runtime, head, given.expected)
    if given.facts or given.rules or rules != "[]":
        given = given.under(rules)
        triggers.deliver(tx, session_id, turn_id, given.facts.get("trigger"), triggers.payload(messages))
    before, link = runtime.head_cache.find(tx, session_id, parent_id, seq - 1)
    leaves = _write_rows(tx, turn_id, session_id, messages, at - len(messages))
    status, answer, usage = _outcome(messages)
    thread = Thread(
        digests.turn(before.digest, "turn", leaves),
        before.depth + 1,
        before.tokens if usage is NOTHING else add_up((before.tokens, usage.total)),
        before.messages + len(messages),
    )
    tx.defer_values(
        Q.insert_sealed_turn,
        *(turn_id, parent_id, session_id, revision - 1, seq, "turn", status, at, *thread, answer, *usage.counts()),
        *(0.0, 0, exact_json.encode(given.facts) if given.facts else "{}"),
    )
    if usage is not NOTHING:
        counting.refuse_overflow(tx, session_id, before, NOTHING, usage)
        seal.add_usage(tx, session_id, usage)
    seal.touch(tx, session_id, given.facts, now)
    link = heads.log(tx, session_id, seq, "seal", turn_id, revision, now, link=link)
    digest, depth, tokens, count = thread
    info = TurnInfo(
        *(turn_id, parent_id, session_id, "turn", status, revision - 1, depth, at, at, digest),
        *(answer, usage, 0.0, tokens, count),
    )
    return info, CachedHead(turn_id, seq, link, thread)


def _write_rows(tx: Tx, turn_id: str, session_id: str, messages: list[NewMessage], at: int) -> list[bytes]:
    """Rows and lines; the leaves in their order."""
    put, leaves = tx.defer_values, list[bytes]()
    for message in messages:
        at += 1
        if message.client_id is not None:
            open_turn.use_free_id(tx, message)
        home = message.id
        put(Q.insert_message, home, session_id, message.role, message.metadata, at)
        put(Q.insert_entry, turn_id, len(leaves), "message", home, message.client_id, message.salt, message.leaf)
        leaves.append(message.leaf)
        for place, part in enumerate(message.parts):
            tool = part.tool_call_id, part.tool_state
            put(Q.insert_part, part.id, home, session_id, place, part.type, part.data, *tool, at)
            put(Q.insert_entry, turn_id, len(leaves), "part", part.id, None, part.salt, part.leaf)
            leaves.append(part.leaf)
    return leaves


def _outcome(messages: list[NewMessage]) -> tuple[str, str | None, Usage]:
    """How a turn of these messages ends, which one answers, and what it took."""
    answer, usage = None, NOTHING
    for message in messages:
        if message.role == "assistant":
            answer = message.id
            if '"usage"' in message.metadata:
                usage = seal.usage_of(messages)
    return _status(messages), answer, usage


def commit_carefully(tx: Tx, runtime: Runtime, given: WholeTurn) -> TurnInfo:
    head = preflight.ready(
        tx,
        runtime,
        given.session_id,
        expected=given.expected,
        timestamps=len(given.messages),
        preview=previews.of(given.messages),
        moving_on=True,
    )
    row = tx.one(Q.get_permissions, session=given.session_id)
    given = given.under(row[0] if row else None)
    beside = _beside(tx, head) if given.expected is None else []
    lines = [line for message in beside for line in adopt.lines_of(tx, message)]
    turn = seal.commit(
        tx,
        head,
        lines,
        given.messages,
        parent_id=head.turn_id,
        facts=given.facts,
        status=_status(given.messages),
        counted=adopt.usage_of(beside),
    )
    triggers.deliver(tx, turn.session_id, turn.id, given.facts.get("trigger"), triggers.payload(given.messages))
    head = seal.advance_head(tx, head, turn, kind="seal")
    if beside:
        tx.defer(Q.set_preview, session=given.session_id, preview=previews.recompute(tx, given.session_id))
    if head.open_turns:
        hidden_stamps.hide_open_turns(tx, head)
    return _info(turn)


def _beside(tx: Tx, head: Head) -> list[adopt.LooseMessage]:
    """Rows of other programs beside an open turn: the caller, who follows whatever there is, comes after them."""
    since = max(0, head.looked_at - adopt.MARGIN_MS)
    return adopt.find(tx, head.session_id, since) if head.open_turns else []


def _status(prepared: list[NewMessage]) -> str:
    """A turn is not completed while a tool call in it has no result."""
    for message in prepared:
        for part in message.parts:
            if part.tool_state not in _RESOLVED:
                return "aborted"
    return "completed"


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
        thread_tokens=add_up((turn.thread.tokens, turn.usage.total)),
        thread_messages=turn.thread.messages + turn.messages,
    )
