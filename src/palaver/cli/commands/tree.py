"""`palaver tree`: a session's turns as a graph, newest first, drawn as `git log --graph` draws commits.

Every line is a turn: a mark, the end of its id, the beginning of its digest, its first words. A column goes down from
each tip to its root; where two tips grow from one turn, the right column joins the left.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from palaver import Session, TurnInfo

from ..command import Call, command, session_argument
from ..ui.format import short
from ..ui.pager import paged
from ..ui.render import first_words
from ..ui.screen import Screen
from ..values import turn_json

HEAD, TURN, STRAY, OPEN, WAITING = "*", "o", "x", "+", "?"


@command(
    "tree",
    examples=["palaver tree @"],
    keys={
        "session": "its id",
        "head": "the turn its head points at, or null",
        "turns[]": "Turn, parents first, and:",
        "  mark": "head, path, branch, stray, open or waiting",
        "  words": "the first words said in it",
    },
)
@session_argument()
def tree(call: Call, session: str) -> None:
    """Draw the tree of a session's turns.

    * is the head, o a turn, x a stray (it lost a race; fork --at rescues it), + is open, ? waits for an answer.
    Turns that are not on the path are dimmed."""
    _, found = call.session(session, readonly=True)
    nodes = _Nodes(found)
    if call.json:
        call.screen.json({"session": found.id, "head": nodes.head, "turns": [nodes.json(t) for t in nodes.turns]})
        return
    with paged(call.screen) as screen:
        for graph, turn in draw(nodes.turns):
            _print(screen, graph, turn, nodes)


class _Nodes:
    """What is known of each turn."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.turns = session.tree()
        path = session.path()
        self.head = path[-1].id if path else None
        self._path = {turn.id for turn in path}
        self._strays = {turn.id for turn in session.strays()} - self._path

    def mark(self, turn: TurnInfo) -> str:
        if turn.sealed_at is None:
            return "waiting" if turn.status == "waiting" else "open"
        if turn.id in self._path:
            return "head" if turn.id == self.head else "path"
        return "stray" if turn.id in self._strays else "branch"

    def words(self, turn: TurnInfo) -> str:
        found = self._session.messages_of(turn.id)
        return next(filter(None, map(first_words, found)), "")

    def json(self, turn: TurnInfo) -> dict[str, Any]:
        return {**turn_json(turn), "mark": self.mark(turn), "words": self.words(turn)}


_MARKS = {"head": HEAD, "path": TURN, "branch": TURN, "stray": STRAY, "open": OPEN, "waiting": WAITING}
_STYLES = {"head": "bold green", "path": "", "branch": "dim", "stray": "dim", "open": "yellow", "waiting": "yellow"}


def _print(screen: Screen, graph: str, turn: TurnInfo | None, nodes: _Nodes) -> None:
    if turn is None:
        screen.line((graph, "dim"))
        return
    mark = nodes.mark(turn)
    digest = turn.digest.hex()[:7] if turn.digest else "-------"
    status = f" ({turn.status})" if turn.status != "completed" else ""
    screen.line(
        graph.replace(TURN, _MARKS[mark]),
        (f" {screen.sanitized(short(turn.id))}", "yellow"),
        (f" {digest}{screen.sanitized(status)} ", "dim"),
        (screen.sanitized(nodes.words(turn)), _STYLES[mark]),
    )


# ---------------------------------------------------------------- drawing


def draw(turns: list[TurnInfo]) -> Iterator[tuple[str, TurnInfo | None]]:
    """Lines from the newest turn to the roots: (graph, turn), or (graph, None) where columns join."""
    columns: list[str] = []  # the turn that each column goes down to
    for turn in _newest_first(turns):
        at = _column_of(columns, turn.id)
        for joining in [place for place in range(len(columns) - 1, at, -1) if columns[place] == turn.id]:
            yield _join(len(columns), at, joining), None
            del columns[joining]
        yield " ".join(TURN if place == at else "|" for place in range(len(columns))), turn
        if turn.parent_id is not None:
            columns[at] = turn.parent_id
            continue
        if at < len(columns) - 1:
            yield _close(len(columns), at), None
        del columns[at]


def _column_of(columns: list[str], turn_id: str) -> int:
    if turn_id not in columns:
        columns.append(turn_id)
    return columns.index(turn_id)


def _newest_first(turns: list[TurnInfo]) -> list[TurnInfo]:
    """Children before parents, whatever the clocks said; else the newest first."""
    begun = {turn.id: turn.started_at for turn in turns}
    for turn in reversed(turns):  # parents come first in it
        if turn.parent_id in begun:
            begun[turn.parent_id] = min(begun[turn.parent_id], begun[turn.id])
    return sorted(turns, key=lambda turn: (begun[turn.id], turn.depth), reverse=True)


def _join(count: int, at: int, joining: int) -> str:
    """`|_|/`: the column `joining` ends in `at`; those right of it move one to the left."""
    row = [" "] * (2 * count - 1)
    for place in range(count):
        if place < joining:
            row[2 * place] = "|"
        else:
            row[2 * place - 1] = "/"
    for place in range(at, joining - 1):
        row[2 * place + 1] = "_"
    return "".join(row).rstrip()


def _close(count: int, at: int) -> str:
    """A root: its column ends, those right of it move to the left."""
    return "".join("| " if place < at else (" /" if place > at else "") for place in range(count)).rstrip()
