"""What a session of Hermes used: totals in its row, and in later versions a row for each model, as usage of ours.

Source `hermes` is what the totals count: SessionDB and exports give its sum back. What a later version tells of other
work (titles, pictures) is in no total, and is of a source of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from ...base import exact_json
from ...errors import BadValue
from ...model import MOST, Usage, UsageEntry
from ...session import Session
from .columns import Tell
from .session_columns import joined

SOURCE, OTHER = "hermes", "hermes-task"
COUNTS = ("input_tokens", "output_tokens", "reasoning_tokens", "cache_read_tokens", "cache_write_tokens")
_MOST_USD = 1e12


class Spent(NamedTuple):
    """One row of usage."""

    key: str
    source: str
    model: str | None
    usage: Usage
    computed: float | None
    reported: float | None
    price: str | None = None

    @property
    def is_nothing(self) -> bool:
        return not self.usage.total and self.computed is None and self.reported is None

    def is_told(self, entry: UsageEntry | None) -> bool:
        if entry is None:
            return self.is_nothing
        costs = (entry.cost_computed, entry.cost_reported, entry.price)
        return (entry.usage, *costs) == (self.usage, self.computed, self.reported, self.price)


def spent(row: Mapping[str, Any], by_model: Iterable[Mapping[str, Any]], tell: Tell) -> list[Spent]:
    """What a session used, by model: what its totals have beyond that is nobody's."""
    price = row.get("pricing_version")
    price = price if isinstance(price, str) and _is_column(price) else None
    totals = _one(row, row.get("model"), SOURCE, tell)._replace(price=price)
    main, others = _by_model(by_model, tell)
    usage = sum((one.usage for one in main), Usage())
    if not main or min((totals.usage - usage).counts()) < 0:
        if main:
            tell("its models used more than its totals say; the totals are kept")
        main = [totals]
    else:
        main = [one._replace(price=price) for one in _costed(main, totals)]
        main.append(_rest(totals, usage, main)._replace(price=price))
    return [one for one in [*main, *others] if not one.is_nothing]


def _by_model(rows: Iterable[Mapping[str, Any]], tell: Tell) -> tuple[list[Spent], list[Spent]]:
    """One for each model; and for each model and other work."""
    found: dict[str, Spent] = {}
    for row in rows:
        task = row.get("task") or ""
        one = _one(row, row.get("model"), OTHER if task else SOURCE, tell, str(task))
        found[one.key] = _added(found[one.key], one) if one.key in found else one
    return [one for one in found.values() if one.source == SOURCE], [o for o in found.values() if o.source == OTHER]


def _added(one: Spent, other: Spent) -> Spent:
    computed, reported = _sum([one.computed, other.computed]), _sum([one.reported, other.reported])
    return one._replace(usage=one.usage + other.usage, computed=computed, reported=reported)


def _costed(main: list[Spent], totals: Spent) -> list[Spent]:
    """A cost of 0 by model is none where the totals have none."""
    if totals.computed is None and not _sum([one.computed for one in main]):
        main = [one._replace(computed=None) for one in main]
    if totals.reported is None and not _sum([one.reported for one in main]):
        main = [one._replace(reported=None) for one in main]
    return main


def _rest(totals: Spent, usage: Usage, main: list[Spent]) -> Spent:
    computed = _beyond(totals.computed, [one.computed for one in main])
    reported = _beyond(totals.reported, [one.reported for one in main])
    return Spent(key_of(SOURCE, None), SOURCE, None, totals.usage - usage, computed, reported)


def _beyond(total: float | None, told: list[float | None]) -> float | None:
    left = (total or 0.0) - (_sum(told) or 0.0)
    return left if left > 1e-9 else None


def _one(row: Mapping[str, Any], model: Any, source: str, tell: Tell, task: str = "") -> Spent:
    name = model if isinstance(model, str) and model else None
    counts = [_count(row, column, tell) for column in COUNTS]
    computed, reported = (_cost(row, column, tell) for column in ("estimated_cost_usd", "actual_cost_usd"))
    return Spent(key_of(source, name, task), source, name, Usage(*counts), computed, reported)


def key_of(source: str, model: str | None, task: str = "") -> str:
    key = ":".join([source, *([task] if task else []), model or ""])
    return key if _is_column(key) else f"{source}:{sha256(key.encode()).hexdigest()[:32]}"


def _is_column(text: str) -> bool:
    try:
        return exact_json.check_name("it", text) is not None
    except BadValue:
        return False


def _count(row: Mapping[str, Any], column: str, tell: Tell) -> int:
    value = row.get(column) or 0
    if type(value) is int and 0 <= value <= MOST:
        return value
    tell(f"{column} is {value!r:.40}, which is no count")
    return min(value, MOST) if type(value) is int and value > 0 else 0


def _cost(row: Mapping[str, Any], column: str, tell: Tell) -> float | None:
    value = row.get(column)
    if value is None or (type(value) in (int, float) and 0 <= value <= _MOST_USD):
        return None if value is None else float(value)
    tell(f"{column} is {value!r:.40}, which is no cost")
    return None


def _sum(costs: Iterable[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if known else None


# ---------------------------------------------------------------- here


def put(session: Session, told: list[Spent]) -> None:
    """Write what is not so already; what the source does not tell any more is nothing."""
    known = {entry.key: entry for entry in session.usage() if entry.source in (SOURCE, OTHER) and entry.key}
    keys = {one.key for one in told}
    gone = [_nothing(entry) for key, entry in known.items() if key not in keys]
    for one in [*told, *gone]:
        if not one.is_told(known.get(one.key)):
            costs = {"computed_usd": one.computed, "cost_usd": one.reported, "price": one.price}
            session.add_usage(one.usage, model=one.model, source=one.source, key=one.key, replace=True, **costs)  # type: ignore[arg-type]


def _nothing(entry: UsageEntry) -> Spent:
    model = joined(entry.provider, entry.model)
    return Spent(str(entry.key), entry.source, model, Usage(), None, None)


def told(session: Session) -> list[Spent]:
    """What a session of ours used by the word of Hermes."""
    return [
        Spent(
            entry.key or "",
            entry.source,
            joined(entry.provider, entry.model),
            entry.usage,
            entry.cost_computed,
            entry.cost_reported,
            entry.price,
        )
        for entry in session.usage()
        if entry.source in (SOURCE, OTHER)
    ]


def totals(session: Session, counted: Usage) -> tuple[Usage, float | None, float | None]:
    """Counts and costs of a session as its row has them: those that Hermes told, else what was counted here."""
    entries = session.usage()
    ours = [entry for entry in entries if entry.source == SOURCE]
    usage = sum((entry.usage for entry in ours), Usage()) if ours else counted
    entries = ours or [entry for entry in entries if entry.source != OTHER]
    return usage, _sum(entry.cost_computed for entry in entries), _sum(entry.cost_reported for entry in entries)
