"""Recovery: turns whose owner died are sealed with what they had.

Of those that stand on the current revision the first lands on the path, the others become strays. While a live or
waiting turn stands there, they wait: landing would take its place away. A turn is never taken from a living owner.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...base import exact_json
from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import PalaverError, TurnUnsealable
from .. import damage, heads, rows
from ..facts import TurnFacts
from ..foreign import hidden_stamps
from ..read import loose_rows
from ..read.heads import Head
from ..read.unsettled import is_left
from ..runtime import IsDead, Runtime
from ..turn import open_turn, seal
from . import requeue

DIED = "its writer died"


def recover_session(tx: Tx, runtime: Runtime, session_id: str) -> None:
    recover(tx, heads.lock(tx, session_id, timestamps=0), runtime.is_dead)


def recover(tx: Tx, head: Head, is_dead: IsDead) -> Head:
    """Seal what dead owners left open in this session."""
    opened = rows.open_turns.all(tx, session=head.session_id)
    dead = [turn for turn in opened if is_left(tx, turn, is_dead)]
    if not dead:
        return head
    others = [turn for turn in opened if turn not in dead]
    busy = any(turn.base_revision == head.revision and turn.status != "pending" for turn in others)
    for turn in dead:
        with naming(head.session_id, turn.id, turn.fence):
            if turn.response_id is None and _give_back(tx, head, turn.id, turn.fence):
                head = heads.lock(tx, head.session_id, timestamps=0)
            elif turn.base_revision != head.revision:
                head = abandon(tx, head, turn.id, "aborted", facts={"abort_reason": DIED})
            elif not busy:
                head = finish(tx, head, turn.id, "aborted", kind="recover", reason=DIED, facts={"abort_reason": DIED})
    return head


def _give_back(tx: Tx, head: Head, turn_id: str, fence: int) -> bool:
    return requeue.give_back(tx, heads.lock(tx, head.session_id, timestamps=0), turn_id, fence)


@contextmanager
def naming(session_id: str, turn_id: str, fence: int) -> Iterator[None]:
    """Whatever is wrong with the rows of a turn that is to be sealed, the error says which turn it is. An error of the
    store itself (busy, full, gone), or of another noun, is none of the turn's."""
    try:
        yield
    except damage.RAISED as error:
        if isinstance(error, PalaverError) and not isinstance(error, damage.OURS):
            raise
        why = f"{type(error).__name__}: {error}"[:500]
        raise TurnUnsealable(session_id, turn_id, why, fence=fence) from error


def set_aside(tx: Tx, stuck: TurnUnsealable) -> None:
    """A turn that cannot be sealed is closed off every path, as it is: nothing of it is lost, and nothing is proved.
    Its session goes on without it; verify() and doctor name it. If somebody took it up since, it is left to them."""
    head = heads.lock(tx, stuck.session_id, timestamps=0)
    turn = rows.turn_to_set_aside.one(tx, turn=stuck.turn_id, fence=stuck.fence)
    if turn is None:
        return
    facts = exact_json.encode({**_facts(turn.facts_json), "set_aside": stuck.why})
    tx.run(Q.set_aside, turn=stuck.turn_id, fence=stuck.fence, now=now_ms(), facts=facts)
    seal.mark_stray(tx, head, stuck.turn_id, turn.begin_seq, "aborted")


def why_aside(tx: Tx, session_id: str, turn_id: str) -> str:
    """In a sentence, for who looks after the store."""
    row = rows.facts_of_turn.one(tx, turn=turn_id)
    why = (_facts(row.facts_json) if row else {}).get("set_aside", "nobody knows why")
    return f"turn {turn_id} of session {session_id} was set aside: it could not be sealed ({why}); its rows are kept"


def _facts(stored: str) -> dict[str, Any]:
    facts = damage.parsed(stored)
    return facts if isinstance(facts, dict) else {"facts": damage.as_text(stored)}


def close_waiting(tx: Tx, head: Head, is_dead: IsDead, *, alone: bool = False) -> Head:
    """The user moved on: the first waiting turn lands with its open tools closed, others become strays. While somebody
    still streams on this revision, they are left to the race. `alone`: rows of other programs stay beside it."""
    opened = rows.open_turns.all(tx, session=head.session_id)
    here = [turn for turn in opened if turn.base_revision == head.revision and turn.status == "streaming"]
    if any(turn.owner is not None and not is_dead(tx, turn.owner) for turn in here):
        return head
    for turn in opened:
        if turn.status != "waiting":
            continue
        with naming(head.session_id, turn.id, turn.fence):
            if turn.base_revision == head.revision:
                head = finish(tx, head, turn.id, "completed", kind="seal", reason="the user moved on", alone=alone)
            else:
                head = abandon(tx, head, turn.id, "completed")
    return head


def finish(
    tx: Tx,
    head: Head,
    turn_id: str,
    status: str,
    *,
    kind: str,
    reason: str,
    alone: bool = False,
    facts: TurnFacts | None = None,
) -> Head:
    """Seal a turn from its rows and put it on the path; what else stood there is off it now."""
    turn = open_turn.load(tx, turn_id)
    turn.facts = turn.facts | (facts or {})
    beside = [] if alone else loose_rows.find_recent(tx, head)
    sealed = seal.freeze(tx, turn, status, beside)
    head = heads.lock(tx, head.session_id, timestamps=0)
    head = seal.advance_head(tx, head, sealed, kind=kind, reason=reason)
    hidden_stamps.hide_open_turns(tx, head)
    return heads.flushed(tx, head)


def abandon(tx: Tx, head: Head, turn_id: str, status: str, *, facts: TurnFacts | None = None) -> Head:
    """Seal a turn from its rows as a stray."""
    turn = open_turn.load(tx, turn_id)
    turn.facts = turn.facts | (facts or {})
    sealed = seal.freeze(tx, turn, status)
    head = heads.lock(tx, head.session_id, timestamps=0)
    seal.mark_stray(tx, head, sealed.id, sealed.begin_seq, sealed.status)
    return heads.flushed(tx, head)
