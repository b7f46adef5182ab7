"""The list of sessions as lines: `palaver ls`, on its fast way or not."""

from __future__ import annotations

from . import sanitize
from .format import age, short
from .screen import Screen


class Listed:
    """What a line shows of a session."""

    __slots__ = ("agent", "archived", "id", "label", "relation", "turns", "updated_at")

    def __init__(
        self, id: str, updated_at: int, turns: int, agent: str, label: str, archived: bool, relation: str
    ) -> None:
        self.id = id
        self.updated_at = updated_at
        self.turns = turns
        self.agent = agent
        self.label = label
        self.archived = archived
        self.relation = relation


def print_list(screen: Screen, found: list[Listed], *, more: bool) -> None:
    """A line each, in columns. `more`: there are others after these."""
    lines = [_cells(screen, one) for one in found]
    widths = [max(map(sanitize.width, column)) for column in zip(*lines, strict=True)]
    for cells, one in zip(lines, found, strict=True):
        name, when, turns, agent = map(sanitize.pad, cells, widths)
        screen.line(
            (name, "yellow"),
            (f" {when}", "dim"),
            f" {one.turns:>{len(turns)}} {agent} ",
            (_marks(one) + screen.sanitized(one.label), "dim" if one.archived else "bold"),
        )
    if more:
        screen.line((f"more: --limit {2 * len(found)}", "dim"))


def _cells(screen: Screen, one: Listed) -> list[str]:
    shown = short(one.id) if screen.tty else one.id
    agent = screen.fit(screen.sanitized(one.agent), max(4, screen.width // 6))
    return [screen.sanitized(shown), age(one.updated_at), str(one.turns), agent]


def _marks(one: Listed) -> str:
    marks = ["archived"] if one.archived else []
    marks += [one.relation] if one.relation in ("fork", "spawn", "continue") else []
    return f"[{', '.join(marks)}] " if marks else ""
