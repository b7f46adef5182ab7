"""The list of sessions as lines: `palaver ls`, quick or not."""

from __future__ import annotations

from . import sanitize
from .format import age, short
from .screen import Screen


class Listed:
    """What a line shows of a session."""

    __slots__ = ("agent", "archived", "id", "relation", "turns", "updated_at", "words")

    def __init__(
        self, id: str, updated_at: int, turns: int, agent: str, words: str, archived: bool, relation: str
    ) -> None:
        self.id = id
        self.updated_at = updated_at
        self.turns = turns
        self.agent = agent
        self.words = words
        self.archived = archived
        self.relation = relation


def print_list(screen: Screen, found: list[Listed], *, more: bool) -> None:
    """A line each, in columns. `more`: there are others after these."""
    rows = [_cells(screen, one) for one in found]
    widths = [max((sanitize.width(row[place]) for row in rows), default=0) for place in range(4)]
    for row, one in zip(rows, found, strict=True):
        screen.line(
            (sanitize.pad(row[0], widths[0]), "yellow"),
            (f" {sanitize.pad(row[1], widths[1])}", "dim"),
            f" {row[2].rjust(widths[2])} {sanitize.pad(row[3], widths[3])} ",
            (row[4], "dim" if one.archived else "bold"),
        )
    if more:
        screen.line((f"more: --limit {2 * len(found)}", "dim"))


def _cells(screen: Screen, one: Listed) -> list[str]:
    shown = short(one.id) if screen.tty else one.id
    agent = screen.fit(screen.safe(one.agent), max(4, screen.width // 6))
    return [screen.safe(shown), age(one.updated_at), str(one.turns), agent, _marks(one) + screen.safe(one.words)]


def _marks(one: Listed) -> str:
    marks = ["archived"] if one.archived else []
    marks += [one.relation] if one.relation in ("fork", "spawn", "continue") else []
    return f"[{', '.join(marks)}] " if marks else ""
