"""Copies of what a turn's facts, parts and parent say, as columns of its row: compared with what they follow from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, cast

from ...db.engine import Tx
from .. import damage, rows
from ..facts import COLUMNS, TurnFacts, named_columns
from ..read import summaries
from . import filling, mending, records, windows
from .findings import Finding, stale, wrong, wrong_types
from .lineage import Lineage

_DERIVED = ("jump", "thread_results", "thread_calls")


_KNOWN = (*records.TurnEdgeRow._fields, *records.TurnBesideParentRow._fields)


def compare(tx: Tx, lineage: Lineage) -> Iterator[Finding]:
    for page in windows.pages(tx, records.filled_turns, windows.TURNS):
        for given in page:
            yield from wrong_types(given.id, given, _KNOWN)
            row = damage.sound(given)
            if row.jump is not None:  # else maintenance has not filled it yet
                yield from _turn(tx, row)
    yield from _usage(tx, lineage)


def _turn(tx: Tx, row: records.FilledTurnRow) -> Iterator[Finding]:
    facts = damage.parsed(row.facts_json)
    right: dict[str, Any] = dict(named_columns(cast(TurnFacts, facts))) if isinstance(facts, dict) else {}
    if row.sealed_at is not None:
        right |= filling.derived(tx, row.unfilled())
    stored = [name for name in (*COLUMNS, *_DERIVED) if name in right and getattr(row, name) != right[name]]
    if stored:
        what = f"{stored[0]} of turn {row.id} is {getattr(row, stored[0])!r:.60}, not {right[stored[0]]!r:.60}"
        yield stale("columns", row.id, what, row.session_id, mending.columns(row.id), rank=row.depth)
    if row.kind == summaries.KIND:
        yield from _compaction(tx, row)


def _compaction(tx: Tx, row: records.FilledTurnRow) -> Iterator[Finding]:
    said = filling.compaction(tx, row.id)
    stored = rows.compaction.one(tx, turn=row.id)
    if said is None and stored is None:
        return
    right = None if said is None else summaries.columns(said)
    has = None if stored is None else {name: getattr(stored, summaries.COLUMN.get(name, name)) for name in right or ()}
    if right != has:
        what = f"the row of compaction {row.id} is not what its part says"
        yield stale("compactions", row.id, what, row.session_id, mending.columns(row.id), rank=row.depth)


def _usage(tx: Tx, lineage: Lineage) -> Iterator[Finding]:
    """Where a turn has usage rows, its counts and its cost are their sums. Turns of before have none: theirs are the
    truth. In a session, those that have some come after those that have none."""
    after, counted = "", set[str]()
    while page := records.usage_sums.all(tx, after=after, limit=windows.TURNS):
        for given in page:
            row = damage.sound(given)
            if row.id is not None and row.session_id is not None:
                counted.add(row.id)
                yield from _sums(row.id, row.session_id, row)
        after = page[-1].turn_id
    for turn_id in lineage.uncounted(counted):
        yield wrong("usage", turn_id, f"turn {turn_id} says that it used tokens, and its usage rows are gone")


def _sums(turn_id: str, session_id: str, row: records.UsageSumsRow) -> Iterator[Finding]:
    stored, right = row.stored(), row.right()
    if stored != right:
        what = f"the tokens of turn {turn_id} are {stored}, and those of its usage rows {right}"
        yield stale("usage", turn_id, what, session_id, mending.usage(turn_id))
    if row.cost_sum is not None and not math.isclose(row.cost_sum, row.cost_usd, rel_tol=1e-9, abs_tol=1e-9):
        what = f"the cost of turn {turn_id} is {row.cost_usd}, and that of its usage rows {row.cost_sum}"
        yield stale("cost", turn_id, what, session_id, mending.cost(turn_id))
