"""Copies of what a turn's facts, parts and parent say, as columns of its row: compared with what they follow from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from ...db.engine import Tx
from .. import damage, rows
from ..facts import COLUMNS, TurnFacts, named_columns
from ..read import summaries
from . import filling, mending, records, windows
from .findings import Finding, stale

_DERIVED = ("jump", "thread_results", "thread_calls")


def compare(tx: Tx) -> Iterator[Finding]:
    for page in windows.pages(tx, records.filled_turns, windows.TURNS):
        for row in page:
            if row.jump is not None:  # else maintenance has not filled it yet
                yield from _turn(tx, row)
    yield from _usage(tx)


def _turn(tx: Tx, row: records.FilledTurnRow) -> Iterator[Finding]:
    facts = damage.parsed(row.facts_json)
    right: dict[str, Any] = dict(named_columns(cast(TurnFacts, facts))) if isinstance(facts, dict) else {}
    if row.sealed_at is not None:
        right |= filling.derived(tx, row.unfilled())
    wrong = [name for name in (*COLUMNS, *_DERIVED) if name in right and getattr(row, name) != right[name]]
    if wrong:
        what = f"{wrong[0]} of turn {row.id} is {getattr(row, wrong[0])!r:.60}, not {right[wrong[0]]!r:.60}"
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


def _usage(tx: Tx) -> Iterator[Finding]:
    """Where a turn has usage rows, its counts are their sums. Turns of before have none: theirs are the truth."""
    after = ""
    while page := records.usage_sums.all(tx, after=after, limit=windows.TURNS):
        for row in page:
            stored, right = row.stored(), row.right()
            if row.id is not None and row.session_id is not None and stored != right:
                what = f"the tokens of turn {row.id} are {stored}, and those of its usage rows {right}"
                yield stale("usage", row.id, what, row.session_id, mending.usage(row.id))
        after = page[-1].turn_id
