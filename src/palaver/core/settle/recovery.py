"""Recovery: turns whose owner died are sealed with what they had.

Of those that stand on the current revision the first lands on the path, the others become strays. While a live or
waiting turn stands there, they wait: landing would take its place away. A turn is never taken from a living owner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...base import exact_json
from ...base.clock import now_ms
from ...db.engine import Row, Tx
from ...db.queries import Q
from ...errors import PalaverError, TurnUnsealable
from .. import damage, heads
from ..foreign import adopt, hidden_stamps
from ..heads import Head
from ..turn import open_turn, seal
from . import requeue

IsDead = Callable[[Tx, str], bool]
ASIDE = "set_aside"  # a fact of a turn that could not be sealed: why


def recover(tx: Tx, head: Head, is_dead: IsDead) -> Head:
    """Seal what dead owners left open in this session."""
    rows = tx.all(Q.open_turns, session=head.session_id)
    dead = [row for row in rows if _is_left(tx, row, is_dead)]
    if not dead:
        return head
    busy = any(row[1] == head.revision and row[2] != "pending" for row in rows if row not in dead)
    for turn_id, base, _, _, _, response_id, fence in dead:
        with _naming(head.session_id, turn_id, fence):
            if response_id is None and _give_back(tx, head, turn_id, fence):
                head = heads.lock(tx, head.session_id, timestamps=0)
            elif base != head.revision:
                head = abandon(tx, head, turn_id, "aborted")
            elif not busy:
                head = finish(tx, head, turn_id, "aborted", kind="recover", reason="its writer died")
    return head


def _give_back(tx: Tx, head: Head, turn_id: str, fence: int) -> bool:
    return requeue.give_back(tx, heads.lock(tx, head.session_id, timestamps=0), turn_id, fence)


@contextmanager
def _naming(session_id: str, turn_id: str, fence: int) -> Iterator[None]:
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
    row = tx.one(Q.turn_to_set_aside, turn=stuck.turn_id, fence=stuck.fence)
    if row is None:
        return
    base, begin_seq, stored = row
    facts = exact_json.encode({**_facts(stored), ASIDE: stuck.why})
    tx.run(Q.set_aside, turn=stuck.turn_id, fence=stuck.fence, now=now_ms(), facts=facts)
    turn = open_turn.OpenTurn(stuck.turn_id, stuck.session_id, None, heads.Thread(), base, begin_seq)
    turn.status = "aborted"
    seal.mark_stray(tx, head, turn)


def why_aside(tx: Tx, session_id: str, turn_id: str) -> str:
    """In a sentence, for who looks after the store."""
    row = tx.one(Q.facts_of_turn, turn=turn_id)
    why = (_facts(row[0]) if row else {}).get(ASIDE, "nobody knows why")
    return f"turn {turn_id} of session {session_id} was set aside: it could not be sealed ({why}); its rows are kept"


def _facts(stored: str) -> dict[str, Any]:
    facts = damage.parsed(stored)
    return facts if isinstance(facts, dict) else {"facts": damage.as_text(stored)}


def has_dead(tx: Tx, session_id: str, is_dead: IsDead) -> bool:
    return any(_is_left(tx, row, is_dead) for row in tx.all(Q.open_turns, session=session_id))


def _is_left(tx: Tx, row: Row, is_dead: IsDead) -> bool:
    """Whether nobody is writing a turn that streams."""
    _, _, status, owner, *_ = row
    return status == "streaming" and (owner is None or is_dead(tx, owner))


def close_waiting(tx: Tx, head: Head, is_dead: IsDead, *, alone: bool = False) -> Head:
    """The user moved on: the first waiting turn lands with its open tools closed, others become strays. While somebody
    still streams on this revision, they are left to the race. `alone`: rows of other programs stay beside it."""
    rows = tx.all(Q.open_turns, session=head.session_id)
    streaming = [row for row in rows if row[1] == head.revision and row[2] == "streaming"]
    if any(row[3] is not None and not is_dead(tx, row[3]) for row in streaming):
        return head
    for turn_id, base, status, _, _, _, fence in rows:
        if status != "waiting":
            continue
        with _naming(head.session_id, turn_id, fence):
            if base == head.revision:
                head = finish(tx, head, turn_id, "completed", kind="seal", reason="the user moved on", alone=alone)
            else:
                head = abandon(tx, head, turn_id, "completed")
    return head


def finish(tx: Tx, head: Head, turn_id: str, status: str, *, kind: str, reason: str, alone: bool = False) -> Head:
    """Seal a turn from its rows and put it on the path; what else stood there is off it now."""
    turn = open_turn.load(tx, turn_id)
    beside = [] if alone else adopt.find(tx, head.session_id, max(0, head.looked_at - adopt.MARGIN_MS))
    seal.freeze(tx, turn, status, (lambda: adopt.take_entries(tx, turn, beside)) if beside else None)
    head = heads.lock(tx, head.session_id, timestamps=0)
    head = seal.advance_head(tx, head, turn, kind=kind, reason=reason)
    hidden_stamps.hide_open_turns(tx, head)
    return heads.flushed(tx, head)


def abandon(tx: Tx, head: Head, turn_id: str, status: str) -> Head:
    """Seal a turn from its rows as a stray."""
    turn = open_turn.load(tx, turn_id)
    seal.freeze(tx, turn, status)
    head = heads.lock(tx, head.session_id, timestamps=0)
    seal.mark_stray(tx, head, turn)
    return heads.flushed(tx, head)
