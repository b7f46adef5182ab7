"""Changes of an open turn that are no chunks: usage, results from outside, waiting, the seal.

Each is a transaction of the turn's writer (`recorder.writing()`). What writes an event or a row first calls
`writer.renumber`: it locks the session's numbers, and raises if the turn has another writer by now.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from ..base import exact_json
from ..core import counting, facts, heads, model_ref
from ..core.read import context
from ..core.runtime import Runtime
from ..core.settle import landing, requeue
from ..core.turn import open_turn, response, usage_rows
from ..core.turn.open_turn import OpenTurn
from ..core.verbs import late_result, mid_turn
from ..core.verbs.compaction import Compaction
from ..db.engine import Tx
from ..db.queries import Q
from ..errors import ChunkError, HeadConflict, TurnSealed, UsageConflict
from ..model import SEALED, Usage
from .recorder import Recorder


def count_usage(recorder: Recorder, given: Usage, cost: float | None, model: Any, key: str | None) -> None:
    """Tokens used since the last call, into turn, message metadata and the session's sums. A response that was counted
    before, by its key, is not counted again."""
    recorder.make_ready(waiting=True)
    turn = recorder.state
    if response.has_caller_usage(turn):
        raise UsageConflict(turn.id)
    with recorder.writing() as (tx, writer):
        writer.renumber(tx)
        if usage_rows.is_there(tx, turn.session_id, key, given, cost):
            return
        counting.refuse_overflow(tx, turn.session_id, turn.thread, turn.usage, given)
        if turn.response_id is None:  # tokens have a home as soon as they are told
            writer.seq = response.open_response(tx, turn)
        turn.told = True
        if model is not None:
            turn.facts["model"] = model_ref.checked(model)
            _write_facts(tx, turn)
        _write_usage_row(tx, turn, given, cost, key)
        response.count_usage(tx, turn, turn.usage + given, turn.cost + (cost or 0.0))
        response.write_metadata(tx, turn)
        writer.event(tx, "usage", {"usage": exact_json.Raw(given.json().encode()), "cost_usd": cost or 0.0})


def _write_usage_row(tx: Tx, turn: OpenTurn, given: Usage, cost: float | None, key: str | None) -> None:
    """A turn that was begun before there were such rows gets one for what was told till then."""
    about: dict[str, Any] = {"source": usage_rows.TOLD, "turn_id": turn.id, "message_id": turn.response_id}
    if not turn.has_usage_rows:
        usage_rows.add(tx, turn.session_id, turn.usage, cost=turn.cost or None, **about)
        turn.has_usage_rows = True
    usage_rows.add(tx, turn.session_id, given, cost=cost, key=key, model=turn.facts.get("model"), **about)


def note_permission(recorder: Recorder, permission: str) -> None:
    """A permission that the turn made use of, beside those it was granted."""
    recorder.refresh()
    recorder.refuse_ended(waiting=True)
    turn = recorder.state
    used = turn.facts.get("permissions_used", [])
    if permission not in used:
        turn.facts["permissions_used"] = [*used, permission]
        with recorder.writing() as (tx, writer):
            writer.renumber(tx)
            _write_facts(tx, turn)


def _write_facts(tx: Tx, turn: OpenTurn) -> None:
    kept = facts.stored(turn.facts)
    tx.defer(Q.set_facts, turn=turn.id, fence=turn.fence, facts=kept, **facts.named_columns(turn.facts))


# ---------------------------------------------------------------- results from outside, and waiting for them


def resolve(recorder: Recorder, data: dict[str, Any]) -> None:
    """A tool's result or the answer to an approval request. One that comes after the seal is kept beside the turn."""
    recorder.refresh()
    try:
        if recorder.state.status in SEALED:
            raise open_turn.sealed(recorder.state.id, recorder.state.status, recorder.state.facts)
        recorder.flush()
        _resolve(recorder, data)
    except TurnSealed as sealed:
        raise TurnSealed(recorder.state.id, sealed.status, late=_keep_late(recorder, data)) from None


def _resolve(recorder: Recorder, data: dict[str, Any]) -> None:
    turn = recorder.state
    try:
        index = turn.fold.resolve(**data)
    except ChunkError:
        with recorder.writing() as (tx, writer):  # where another has sealed it, there is nothing to refuse: it is late
            writer.renumber(tx)
        raise
    with recorder.writing(hard=True) as (tx, writer):
        writer.renumber(tx)
        writer.event(tx, "resolve", data)
        writer.write_dirty(tx, index)
        if "approved" not in data:
            turn.add(tx, "result", turn.part_ids[index])
        tx.defer(Q.set_indexed, turn=turn.id, mark=1)  # it may wait, and be indexed as it was
    writer.dirty.clear()


def _keep_late(recorder: Recorder, data: dict[str, Any]) -> str | None:
    """A result is kept beside the sealed turn; an answer to a question that is over is not a result."""
    if "approved" in data:
        return None
    with recorder.writing(hard=True) as (tx, _):
        return late_result.keep(tx, recorder.state.id, data)


def wait(recorder: Recorder) -> None:
    recorder.make_ready()
    with recorder.writing(hard=True) as (tx, writer):
        writer.renumber(tx)
        writer.write_dirty(tx)
        writer.set_waiting(tx)
    recorder.state.fence += 1
    writer.dirty.clear()


def give_back(recorder: Recorder) -> bool:
    """A queued message whose start failed before anything came waits again, once. False: it does not."""
    turn = recorder.state
    if recorder.has_begun or turn.status != "streaming":
        return False
    with recorder.writing(hard=True) as (tx, _):
        head = heads.lock(tx, turn.session_id, timestamps=0)
        given = requeue.give_back(tx, head, turn.id, turn.fence)
    if given:
        turn.status = "aborted"
    return given


# ---------------------------------------------------------------- what a model sees


def read_context(recorder: Recorder, system: str | None) -> list[dict[str, Any]]:
    recorder.refresh()
    recorder.flush()
    turn = recorder.state
    with recorder.reading() as tx:
        return context.of_turn(tx, turn.id, turn.parent_id, turn.facts, system)


def compact(recorder: Recorder, runtime: Runtime, said: Compaction, keep_from: str | None) -> Recorder:
    """Seal the turn at its last finished step, write the summary, begin the turn that goes on; all of it or nothing."""
    recorder.make_ready()
    turn = recorder.state
    with recorder.writing(hard=True) as (tx, writer):
        going_on = mid_turn.compact(tx, runtime, turn, said, keep_from)
        if going_on is None:
            writer.renumber(tx)
            raise HeadConflict(turn.session_id, turn.base_revision, heads.revision_of(tx, turn.session_id))
        state, rest = going_on
        following = recorder.successor(state)
        if rest:
            following.go_on(tx, rest)
    return following


# ---------------------------------------------------------------- the end


@contextmanager
def saying(recorder: Recorder, name: Literal["abort_reason", "error"], said: Any) -> Iterator[None]:
    """A fact of how the turn ends; if it does not end after all, it is not said."""
    before = recorder.state.facts.get(name)
    if said is not None:
        recorder.state.facts[name] = said
    try:
        yield
    except BaseException:
        turn = recorder.state
        if said is not None and turn.status not in SEALED:
            turn.facts.pop(name, None)
            if before is not None:
                turn.facts[name] = before
        raise


def seal(recorder: Recorder, runtime: Runtime, status: str) -> None:
    """Freeze the turn and move the head to it. HeadConflict: somebody else moved it first; the work is a stray then."""
    turn = recorder.state
    with recorder.writing(hard=True) as (tx, writer):
        landed = landing.land(tx, runtime, turn, status, writer.seq)
        if landed is None:
            writer.renumber(tx)
            actual = heads.revision_of(tx, turn.session_id)
    if landed is not None:
        runtime.head_cache.put(turn.session_id, landed)
        return
    with recorder.writing(hard=True) as (tx, writer):
        writer.renumber(tx)
        landing.drift(tx, turn, status)
    raise HeadConflict(turn.session_id, turn.base_revision, actual, stray=turn.id)
