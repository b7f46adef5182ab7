"""Filling what older versions and imports leave empty in turns: the jump, the sums of tools, facts that are columns.

Turns are filled from the roots on, so what a turn inherits is there when it is its turn. All of this can be computed
again at any time; `verify` does, and a repair writes it.
"""

from __future__ import annotations

from ...db.engine import Database, Tx
from ...db.queries import Q
from ...errors import TurnNotFound
from .. import damage, rows
from ..facts import TurnFacts, named_columns
from ..read import entries, heads, jumps, summaries
from ..read.heads import Thread
from ..turn import open_turn
from . import records
from .records import UnfilledRow

_SLICE = 200  # turns in a transaction


def fill_all(db: Database) -> int:
    """Fill every turn that is not; how many there were."""
    total = 0
    while found := fill_slice(db):
        total += found
    return total


def fill_slice(db: Database) -> int:
    """Fill some, in a transaction of their own; how many. 0: nothing is left to fill."""
    with db.read() as tx:
        if not records.unfilled.all(tx, limit=1):
            return 0
    with db.write() as tx:
        return fill(tx, _SLICE)


def fill(tx: Tx, limit: int) -> int:
    found = records.unfilled.all(tx, limit=limit)
    locked = sorted({row.session_id for row in found})  # in one order: somebody else may fill, too
    for session_id in locked:
        tx.one(Q.lock_session, session=session_id)
    for row in records.unfilled.all(tx, limit=limit) if found else ():  # under the locks: nobody seals them meanwhile
        if row.session_id in locked:
            write(tx, row)
    return len(found)


def write(tx: Tx, row: UnfilledRow) -> None:
    """What follows from the turn's parent, its entries and its facts."""
    facts = _facts(row.facts_json)
    tx.run(Q.fill_turn, turn=row.id, **derived(tx, row), **named_columns(facts))
    if row.kind == summaries.KIND:
        _fill_compaction(tx, row.id)


def derived(tx: Tx, row: UnfilledRow) -> dict[str, int | str | None]:
    parent = _parent(tx, row.parent_id)
    tools = open_turn.tools_listed(tx, row.id) if row.sealed_at is not None else open_turn.NO_TOOLS
    jump = jumps.of_child(tx, row.parent_id, parent.depth, parent.jump) or jumps.START
    return {
        "jump": jump.turn_id,
        "thread_results": (parent.results or 0) + tools.results,
        "thread_calls": (parent.calls or 0) + tools.calls,
    }


def _parent(tx: Tx, turn_id: str | None) -> Thread:
    try:
        return heads.thread_of(tx, turn_id)
    except TurnNotFound:  # verify names it
        return Thread()


def _facts(text: str) -> TurnFacts:
    facts = damage.parsed(text)
    return facts if isinstance(facts, dict) else {}  # type: ignore[return-value]


def _fill_compaction(tx: Tx, turn_id: str) -> None:
    tx.run(Q.drop_compaction, turn=turn_id)
    said = compaction(tx, turn_id)
    if said is not None:
        tx.run(Q.put_compaction, turn=turn_id, **summaries.columns(said))


def compaction(tx: Tx, turn_id: str) -> dict[str, object] | None:
    """The fields of a compaction, from the part that its turn lists."""
    listed = [entry.ref for entry in entries.of_turn(tx, turn_id) if entry.kind == "message"]
    parts = [part.data_json for message_id in listed for part in rows.parts.all(tx, message=message_id)]
    return summaries.details(parts)
