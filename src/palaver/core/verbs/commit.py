"""A turn that comes whole: written, sealed and on the path in one transaction, or nothing at all.

Mostly nothing is in the way, and one statement is lock, clock, compare-and-swap and move at once. If something is
(open turns, rows of another program, an archive, a conflict), the transaction starts again `carefully`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base import arguments, ids
from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import BadValue
from ...keywords import CommitKeywords
from ...model import SEALED, TurnInfo
from .. import counting, heads
from ..foreign import adopt, hidden_stamps
from ..head_cache import CachedHead, FastPathMissed
from ..read import previews
from ..runtime import Runtime
from ..settle import preflight
from ..turn import foreign_entries, seal, triggers
from ..turn.message_input import NewMessage
from ..turn.options import Standing, TurnOptions, prepared
from ..turn.seal import Told


class WholeTurn(NamedTuple):
    """A turn with all that is in it."""

    messages: list[NewMessage]
    options: TurnOptions
    expected: int | None
    status: str | None = None  # None: as its tool calls say
    told: tuple[Told, ...] = ()

    @classmethod
    def of(cls, messages: Any, expected: Any, given: CommitKeywords) -> WholeTurn:
        """What a caller gave, looked at."""
        return cls(*prepared(messages, given), arguments.revision(expected))

    def ended(self, status: Any) -> WholeTurn:
        if status is not None and status not in SEALED:
            raise BadValue(f"a turn ends as completed, failed or aborted, or is waiting, not {arguments.shown(status)}")
        return self._replace(status=status)

    def having_used(self, usage: Any, cost_usd: Any) -> WholeTurn:
        """What the caller says it used goes with its last answer, if it has one."""
        if usage is None and cost_usd is None:
            return self
        counts = counting.read_usage(usage)
        cost = None if cost_usd is None else counting.check_cost(cost_usd)
        answer = next((message for message in reversed(self.messages) if message.role == "assistant"), None)
        if answer is not None:
            if seal.usages_in([answer]):
                raise BadValue("the answer's metadata says what was used; give it there or as `usage=`, not both")
            answer.usage = counts.json()
        return self._replace(told=(Told(counts, cost, None if answer is None else answer.id),))

    def end_status(self) -> str:
        return seal.status_of(self.messages) if self.status is None else self.status


def commit(tx: Tx, runtime: Runtime, session_id: str, given: WholeTurn, *, carefully: bool = False) -> TurnInfo:
    if carefully:
        return _commit_carefully(tx, runtime, session_id, given)
    messages, options, turn_id = given.messages, given.options, ids.mint(ids.TURN)
    taken = heads.advance(tx, session_id, turn_id, timestamps=len(messages), expected=given.expected)
    if taken is None:
        raise FastPathMissed
    head, rules, has_preview, model, agent = taken
    standing = Standing(rules, model, agent)
    options.keep_bodies(tx)
    options.say_in(messages, standing)
    if not has_preview:
        heads.keep_preview(tx, session_id, previews.of(messages))
    preflight.refuse_loose(tx, runtime, head, given.expected)
    if options.trigger is not None:
        triggers.deliver(tx, session_id, turn_id, options.trigger, triggers.payload(messages))
    thread, link = runtime.head_cache.find(tx, session_id, head.turn_id, head.event_seq - 1)
    turn = seal.commit(
        tx,
        head,
        messages,
        parent_id=head.turn_id,
        base_revision=head.revision - 1,  # it has moved already
        turn_id=turn_id,
        status=given.end_status(),
        told=given.told,
        thread=thread,
        facts=options.in_force(standing),
    )
    now = now_ms()
    seal.touch(tx, session_id, turn.facts, now)
    link = heads.log(tx, session_id, head.event_seq, "seal", turn_id, head.revision, now, link=link)
    # Nobody else ever has this turn: if the commit fails, no head stands on it, and the entry is never used.
    runtime.head_cache.put(session_id, CachedHead(turn_id, head.event_seq, link, turn.thread))
    return turn.info()


def _commit_carefully(tx: Tx, runtime: Runtime, session_id: str, given: WholeTurn) -> TurnInfo:
    messages, options = given.messages, given.options
    head = preflight.ready_to_say(tx, runtime, session_id, messages, given.expected)
    # A caller that follows whatever there is comes after the rows of other programs beside an open turn.
    beside = adopt.beside(tx, head) if given.expected is None else []
    standing, facts = options.of_session(tx, session_id)
    options.keep_bodies(tx)
    options.say_in(messages, standing)
    turn = seal.commit(
        tx,
        head,
        messages,
        entries=[entry for message in beside for entry in foreign_entries.of_message(tx, message)],
        parent_id=head.turn_id,
        facts=facts,
        status=given.end_status(),
        told=given.told,
        counted=foreign_entries.usage_of(beside),
    )
    triggers.deliver(tx, session_id, turn.id, options.trigger, triggers.payload(messages))
    head = seal.advance_head(tx, head, turn, kind="seal")
    if beside:
        tx.defer(Q.set_preview, session=session_id, preview=previews.recompute(tx, session_id))
    if head.open_turns:
        hidden_stamps.hide_open_turns(tx, head)
    return turn.info()
