"""The list of sessions as lines: `palaver ls`, on its fast way or not.

A pipe gets the same columns always, `-` where there is nothing to say. A terminal gets those that say something, as
long as there is room for the title.
"""

from __future__ import annotations

from . import sanitize
from .format import age, dollars, short, thousands
from .screen import Screen

_TITLE = 24  # columns that the title keeps, before there is another one
_NARROW = 40  # columns below which the agent is left out
_NOTHING = "-"


class Listed:
    """What a line shows of a session."""

    __slots__ = (
        *("agent", "app_id", "archived", "cost", "id", "label", "live"),
        *("model", "relation", "tokens", "turns", "updated_at", "waiting"),
    )

    def __init__(
        self,
        id: str,
        updated_at: int,
        turns: int,
        agent: str,
        label: str,
        *,
        archived: bool,
        relation: str,
        app_id: str | None,
        model: str,
        tokens: int,
        cost: float,
        waiting: int,
        live: int,
    ) -> None:
        self.id = id
        self.updated_at = updated_at
        self.turns = turns
        self.agent = agent
        self.label = label
        self.archived = archived
        self.relation = relation
        self.app_id = app_id
        self.model = model
        self.tokens = tokens if type(tokens) is int else 0  # another program may have written anything
        self.cost = cost if type(cost) in (int, float) else 0.0
        self.waiting = waiting
        self.live = live


def print_list(screen: Screen, found: list[Listed], *, more: bool) -> None:
    """A line each, in columns. `more`: there are others after these."""
    labels = [(_marks(one), screen.sanitized(one.label)) for one in found]
    longest = max((sanitize.width(marks + label) for marks, label in labels), default=0) + 1  # and a blank before it
    columns = _chosen(screen, [[screen.sanitized(cell) for cell in _cells(screen, one)] for one in found], longest)
    for one, cells in zip(found, zip(*columns, strict=True), strict=True):
        name, when, *rest = cells
        screen.line(
            (name, "yellow"),
            (f" {when}", "dim"),
            f" {' '.join(rest)} ",
            (_marks(one), "yellow" if one.waiting else "green" if one.live else "dim"),
            (screen.sanitized(one.label), "dim" if one.archived else "bold"),
        )
    if more:
        screen.hint(f"more: --limit {2 * len(found)}")
    if not found:
        screen.hint("no sessions")


_AGENT, _CUT, _RIGHT = 3, (3, 4, 5), (2, 6, 7)  # places of the agent, of names that may be cut, and of numbers
_FIRST = 4  # columns that are there in any case
_LESS_AND_LESS = (6, 7, 4, 5)  # tokens, cost, own id, model: which of them a terminal shows first


def _cells(screen: Screen, one: Listed) -> list[str]:
    if not screen.tty:
        cost = f"{one.cost:.6f}".rstrip("0").rstrip(".")
        known = (one.app_id, one.model, str(one.tokens or ""), cost if one.cost else "")
        return [one.id, age(one.updated_at), str(one.turns), one.agent, *(cell or _NOTHING for cell in known)]
    cost, tokens = dollars(one.cost) if one.cost else "", thousands(one.tokens) if one.tokens else ""
    return [short(one.id), age(one.updated_at), str(one.turns), one.agent, one.app_id or "", one.model, tokens, cost]


def _chosen(screen: Screen, lines: list[list[str]], label: int) -> list[list[str]]:
    """The columns that are shown, each as wide as its widest cell; on a terminal, names as wide as there is room."""
    columns = [list(column) for column in zip(*lines, strict=True)]
    widths = [max(map(sanitize.width, column)) for column in columns]
    shown = list(range(len(columns)))
    if screen.tty:
        wanted, widths = widths, _shares(screen.width, widths)
        shown = _places(screen.width, widths)
        widths = _grown(screen.width - max(_TITLE, label), widths, wanted, shown)
    return [[_padded(screen, cell, widths[place], place) for cell in columns[place]] for place in shown]


def _shares(room: int, widths: list[int]) -> list[int]:
    """What each column may take at first: a name no more than its share."""
    share = max(4, room // 6)
    return [min(width, share) if place in _CUT else width for place, width in enumerate(widths)]


def _places(room: int, widths: list[int]) -> list[int]:
    places = [place for place in range(min(_FIRST, len(widths))) if place != _AGENT or room >= _NARROW]
    room -= sum(widths[place] + 1 for place in places) + _TITLE
    for place in _LESS_AND_LESS if widths else ():
        if 0 < widths[place] < room:
            places.append(place)
            room -= widths[place] + 1
    return sorted(places)


def _grown(room: int, widths: list[int], wanted: list[int], shown: list[int]) -> list[int]:
    """Names get what the titles do not need."""
    room -= sum(widths[place] + 1 for place in shown)
    grown = list(widths)
    for place in (place for place in shown if place in _CUT):
        more = max(0, min(room, wanted[place] - widths[place]))
        grown[place] += more
        room -= more
    return grown


def _padded(screen: Screen, cell: str, width: int, place: int) -> str:
    if place in _RIGHT:
        return " " * (width - sanitize.width(cell)) + cell
    return sanitize.pad(screen.fit(cell, width), width)


def _marks(one: Listed) -> str:
    marks = ["waiting"] * bool(one.waiting) + ["live"] * bool(one.live) + ["archived"] * one.archived
    marks += [one.relation] if one.relation in ("fork", "spawn", "continue") else []
    return f"[{', '.join(marks)}] " if marks else ""
