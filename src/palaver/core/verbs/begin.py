"""Beginning a turn. Mostly nothing is in the way: then one statement is lock, clock, compare-and-swap and numbers, and
the rest goes out together. If something is (open turns, rows of another program, an archive), it starts again the
careful way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from .. import counting
from ..heads import FastPathMissed, Head, Thread
from ..read import previews
from ..settle import preflight
from ..settle.preflight import Runtime, refuse_loose
from ..turn import open_turn, seal, triggers
from ..turn.message_input import NewMessage
from ..turn.open_turn import OpenTurn

assert Q.begin_head.names == ("now", "session", "stamps", "expected")


class Begin(NamedTuple):
    """A turn to be begun."""

    session_id: str
    messages: list[NewMessage]
    expected: int | None
    owner: str
    facts: dict[str, Any]
    granted: Callable[[str | None], dict[str, Any]]  # the snapshot of permissions, from the session's own rules
    keep_prompt: Callable[[Tx], None]


def begin_fast(tx: Tx, runtime: Runtime, given: Begin) -> OpenTurn:
    session_id, messages = given.session_id, given.messages
    found = tx.all_values(Q.begin_head, now_ms(), session_id, len(messages), given.expected)
    if not found or found[0][5] is None:
        raise FastPathMissed
    parent_id, revision, seq, at, looked_at, rules, has_no_preview = found[0]
    if has_no_preview:
        previews.put(tx, session_id, messages)
    head = Head(session_id, parent_id, revision, seq, at, looked_at, None, None, 0)
    if not runtime.scans.is_fresh(session_id, tx.generation(closely=given.expected is not None)):
        refuse_loose(tx, runtime, head, given.expected)
    return _begin(tx, head, given, rules, runtime.head_cache.thread(tx, session_id, parent_id, seq - 1))


def begin_carefully(tx: Tx, runtime: Runtime, given: Begin) -> OpenTurn:
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
    return _begin(tx, head, given, row[0] if row else None, None)


def _begin(tx: Tx, head: Head, given: Begin, rules: str | None, thread: Thread | None) -> OpenTurn:
    given.keep_prompt(tx)
    facts = given.facts | given.granted(rules)
    turn = open_turn.begin(tx, head, given.messages, owner=given.owner, facts=facts, thread=thread)
    usage = seal.usage_of(given.messages)
    if usage is not open_turn.NOTHING:  # of answers that came with the question
        counting.refuse_overflow(tx, head.session_id, turn.thread, open_turn.NOTHING, usage)
        seal.add_usage(tx, head.session_id, usage)
    if given.facts:
        triggers.deliver(tx, head.session_id, turn.id, facts.get("trigger"), triggers.payload(given.messages))
    return turn
