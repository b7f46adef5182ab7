"""What a session used: tokens and cost of each turn that is shown, and their sums."""

from __future__ import annotations

from palaver import SessionInfo, TurnInfo
from palaver.model import USAGE_KEYS, Usage

from .format import dollars, short
from .screen import Screen
from .table import Table


def print_usage(screen: Screen, info: SessionInfo, turns: list[TurnInfo]) -> None:
    """A line for each turn, for what is shown, and for the session if it used more (in branches and strays)."""
    table = Table(["turn", *USAGE_KEYS, "total", "cost"])
    for turn in turns:
        _add(table, screen.sanitized(short(turn.id)), turn.usage, turn.cost_usd)
    shown = sum((turn.usage for turn in turns), Usage())
    cost = sum(turn.cost_usd for turn in turns)
    _add(table, "shown", shown, cost)
    if (info.usage, round(info.cost_usd, 9)) != (shown, round(cost, 9)):
        _add(table, "session", info.usage, info.cost_usd)
    table.print(screen)


def _add(table: Table, name: str, usage: Usage, cost: float) -> None:
    numbers = [f"{number:,}" if number else "" for number in (*usage.counts(), usage.total)]
    table.add(name, *numbers, dollars(cost) if cost else "")
