"""What a session used: tokens and cost of each turn that is shown, and their sums."""

from __future__ import annotations

from palaver import SessionInfo, TurnInfo
from palaver.model import USAGE_KEYS, Usage, UsageEntry

from .format import dollars, short
from .screen import Screen
from .table import Table


def print_usage(screen: Screen, info: SessionInfo, turns: list[TurnInfo], told: list[UsageEntry]) -> None:
    """A line for each turn, for what is shown, and for the session if it used more (in branches and strays); then for
    what was told of the session as a whole."""
    table = Table(["turn", *USAGE_KEYS, "total", "cost"])
    for turn in turns:
        _add(table, screen.sanitized(short(turn.id)), turn.usage, turn.cost_usd)
    _add(table, "total", sum((turn.usage for turn in turns), Usage()), sum(turn.cost_usd for turn in turns))
    _add(table, "session", info.usage, info.cost_usd)
    if table.rows[-1][1:] == table.rows[-2][1:]:
        table.rows.pop()
    for entry in told:
        if entry.turn_id is None and entry.message_id is None:
            name = " ".join(filter(None, (entry.source, entry.model)))
            cost = entry.cost_reported if entry.cost_reported is not None else entry.cost_computed
            _add(table, screen.sanitized(name), entry.usage, cost or 0.0)
    table.print(screen)


def _add(table: Table, name: str, usage: Usage, cost: float) -> None:
    """What another program left in the place of a number counts nothing."""
    counts = [number if type(number) is int else 0 for number in usage.counts()]
    told = dollars(cost) if type(cost) in (int, float) and cost else ""
    table.add(name, *(f"{number:,}" if number else "" for number in (*counts, sum(counts))), told)
