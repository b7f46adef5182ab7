"""What a dialect was told of a session's usage as a whole: one row of `usage` for each model, counted up or set."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base import exact_json
from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from ...model import Usage
from .. import counting, heads
from ..rows import UsageRow
from ..runtime import Runtime
from ..search.ahead import in_chunks
from ..turn import open_turn, usage_rows
from ..turn.open_turn import NOTHING
from ..verbs.session_usage import Said
from . import records

_COSTS = ("cost_computed", "cost_reported")


class Sums(NamedTuple):
    """What the rows of a dialect add up to; costs are None where nobody told of any."""

    usage: Usage
    reported: float | None
    computed: float | None


def sums(tx: Tx, session_ids: list[str], source: str) -> dict[str, Sums]:
    """By session; those of which the dialect was told nothing are not in it."""
    chunks = in_chunks(session_ids)
    found = [row for some in chunks for row in records.usage_by_source.all(tx, **some, source=source)]
    return {
        row.session_id: Sums(
            Usage(row.input, row.output, row.reasoning, row.cache_read, row.cache_write), row.reported, row.computed
        )
        for row in found
    }


def _sum(costs: list[float | None]) -> float | None:
    told = [cost for cost in costs if cost is not None]
    return sum(told) if told else None


def count(tx: Tx, _: Runtime, session_id: str, said: Said, absolute: bool) -> None:
    """Add to the row of a model; `absolute`: let all rows together come to what is said."""
    head = heads.lock(tx, session_id, timestamps=0)
    heads.refuse_gone(head)
    rows = records.usage_of_source.all(tx, session=session_id, source=said.source)
    known = next((row for row in rows if row.key == said.key), None)
    others = [row for row in rows if row.key != said.key]
    said = said._replace(computed=said.computed or 0.0)
    if absolute:
        said = _what_is_left(tx, session_id, said, others)
    elif known is not None:
        said = _added(said, known)
    _write(tx, session_id, said._replace(usage=counting.check_usage(said.usage)), known)
    told = {"source": said.source, "key": said.key, "usage": exact_json.Raw(said.usage.json().encode())}
    open_turn.record_event(tx, head, "usage", None, told | {"cost_usd": said.cost})


def _added(said: Said, row: UsageRow) -> Said:
    cost = row.cost_reported if said.cost is None else (row.cost_reported or 0.0) + said.cost
    computed = (row.cost_computed or 0.0) + (said.computed or 0.0)
    return said._replace(usage=said.usage + usage_rows.counts(row), cost=cost, computed=computed)


def _what_is_left(tx: Tx, session_id: str, said: Said, others: list[UsageRow]) -> Said:
    """For the row of the model, while those of other models stand for their share. If they stand for more than all
    there is, they were wrong, and count nothing any more."""
    shares = sum((usage_rows.counts(row) for row in others), NOTHING)
    computed, reported = (_sum([getattr(row, name) for row in others]) or 0.0 for name in _COSTS)
    fits = all(mine >= share for mine, share in zip(said.usage.counts(), shares.counts(), strict=True))
    if fits and (said.computed or 0.0) >= computed and (said.cost is None or said.cost >= reported):
        left = None if said.cost is None else said.cost - reported
        return said._replace(usage=said.usage - shares, computed=(said.computed or 0.0) - computed, cost=left)
    for row in others:
        cost = row.cost_reported if said.cost is None else 0.0
        tx.defer(Q.zero_usage, session=session_id, n=row.n, cost=cost, at=now_ms())
    return said


def _write(tx: Tx, session_id: str, said: Said, known: UsageRow | None) -> None:
    usage, model, cost, computed, price, source, key = said
    if known is None:
        about: dict[str, Any] = {"model": model, "cost": cost, "computed": computed, "price": price, "key": key}
        usage_rows.add(tx, session_id, usage, source=source, **about)
        return
    costs: dict[str, Any] = {"cost_reported": known.cost_reported if cost is None else cost, "cost_computed": computed}
    costs["price"] = known.price if price is None else price
    tx.defer(Q.change_usage, session=session_id, key=key, **usage.columns(), **costs, at=now_ms())
