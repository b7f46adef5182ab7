"""Beginning a turn: a new one, or one that waited and is taken up again.

Mostly nothing is in the way: then one statement is lock, clock, compare-and-swap and numbers, and the rest goes out
together. If something is (open turns, rows of another program, an archive), the transaction starts again `carefully`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base import arguments
from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import Refused, TurnNotFound, TurnSealed
from ...keywords import CommitKeywords, TurnKeywords
from ...model import SEALED
from .. import counting, heads
from ..facts import TurnFacts
from ..head_cache import FastPathMissed
from ..read import previews
from ..read.entries import Entry
from ..read.heads import Head, Thread
from ..runtime import Runtime
from ..settle import preflight
from ..turn import open_turn, options, seal, triggers, usage_rows
from ..turn.message_input import NewMessage
from ..turn.open_turn import NOTHING, OpenTurn
from ..turn.options import Standing, TurnOptions


class NewTurn(NamedTuple):
    """A turn to be begun."""

    messages: list[NewMessage]
    options: TurnOptions
    expected: int | None
    owner: str | None = ""  # None: nobody writes it; it waits
    status: str = "streaming"

    @classmethod
    def of(cls, messages: Any, expected: Any, given: TurnKeywords | CommitKeywords) -> NewTurn:
        """What a caller gave, looked at; whose turn it is, is yet to be said."""
        return cls(*options.prepared(messages, given), arguments.revision(expected))

    def by(self, owner: str) -> NewTurn:
        return self._replace(owner=owner)

    def waiting(self) -> NewTurn:
        return self._replace(owner=None, status="waiting")


def begin(tx: Tx, runtime: Runtime, session_id: str, given: NewTurn, *, carefully: bool = False) -> OpenTurn:
    messages, expected = given.messages, given.expected
    if carefully:
        return _begin_carefully(tx, runtime, session_id, given)
    taken = heads.begin(tx, session_id, timestamps=len(messages), expected=expected)
    if taken is None:
        raise FastPathMissed
    head, rules, has_preview, model, agent = taken
    if not has_preview:
        heads.keep_preview(tx, session_id, previews.of(messages))
    preflight.refuse_loose(tx, runtime, head, expected)
    thread = runtime.head_cache.thread(tx, session_id, head.turn_id, head.event_seq - 1)
    standing = Standing(rules, model, agent)
    return write_turn(tx, head, given, standing, given.options.in_force(standing), thread=thread)


def _begin_carefully(tx: Tx, runtime: Runtime, session_id: str, given: NewTurn) -> OpenTurn:
    head = preflight.ready_to_say(tx, runtime, session_id, given.messages, given.expected)
    return write_turn(tx, head, given, *given.options.of_session(tx, session_id))


def write_turn(
    tx: Tx,
    head: Head,
    given: NewTurn,
    standing: Standing,
    facts: TurnFacts,
    *,
    thread: Thread | None = None,
    references: list[Entry] | None = None,
) -> OpenTurn:
    """The rows of a turn that begins at a head: the caller has locked it and seen to what comes first."""
    given.options.keep_bodies(tx)
    given.options.say_in(given.messages, standing)
    about: dict[str, Any] = {"owner": given.owner, "status": given.status}
    turn = open_turn.begin(tx, head, given.messages, facts=facts, thread=thread, references=references, **about)
    found = seal.usages_in(given.messages)
    if found:  # of answers that came with the question
        usage = sum((usage for _, usage in found), NOTHING)
        counting.refuse_overflow(tx, head.session_id, turn.thread, NOTHING, usage)
        seal.add_usage(tx, head.session_id, usage, at=now_ms())
        usage_rows.of_messages(tx, head.session_id, None, found, facts.get("model"))  # not of the turn's response
    if given.options.trigger is not None:
        triggers.deliver(tx, head.session_id, turn.id, given.options.trigger, triggers.payload(given.messages))
    return turn


def resume(tx: Tx, _: Runtime, session_id: str, turn_id: str, owner: str) -> OpenTurn:
    """Take a waiting turn up again: its owner is whoever asks."""
    head = heads.lock(tx, session_id, timestamps=0)
    if head.deleted_at is not None:  # an archived session's open turns may go on
        preflight.refuse_closed(head)
    turn = open_turn.load(tx, turn_id)
    if turn.session_id != session_id:
        raise TurnNotFound(turn_id, f"it belongs to session {turn.session_id}")
    if turn.status in SEALED:
        raise TurnSealed(turn_id, turn.status)
    if turn.status != "waiting":
        raise Refused(f"turn {turn_id} is {turn.status}: its writer is alive; only waiting turns are resumed")
    if tx.run(Q.set_status, status="streaming", owner=owner, turn=turn_id, fence=turn.fence) != 1:
        raise open_turn.sealed_error(tx, turn_id)
    turn.fence += 1
    turn.status = "streaming"
    head = heads.lock(tx, session_id, timestamps=0)
    open_turn.record_event(tx, head, "resume", turn.begin_seq, {"turn": turn_id})
    return turn
