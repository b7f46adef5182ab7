"""`palaver tree`: a session's turns as a graph, newest first.

Every line is a turn: a mark, the end of its id, the beginning of its digest, the heads that stand on it, and the words
it is known by. Below a turn are the sub-agents that its tool calls spawned.
"""

from __future__ import annotations

from collections.abc import Iterator

from palaver import TurnInfo
from palaver.core.rows import ChildRow

from ..command import Call, command, session_argument
from ..ui.format import count, short
from ..ui.graph import BEGINNING, TURN, draw, is_queued
from ..ui.pager import paged
from ..ui.screen import Screen
from ..ui.tree_nodes import Nodes

_MARKS = {"head": "*", "path": TURN, "branch": TURN, "stray": "x", "open": "+", "waiting": "?", "queued": "q"}
_STYLES = {
    **{"head": "bold green", "path": "", "branch": "dim", "stray": "dim"},
    **dict.fromkeys(("open", "waiting", "queued"), "yellow"),
}
_NARROW = 60  # columns below which digests and labels are left out
_NAME = 24  # columns for the title of a session whose head stands on a turn


@command(
    "tree",
    examples=["palaver tree @"],
    keys={
        "session": "its id",
        "head": "the turn its head points at, or null",
        "turns[]": "Turn, parents first, and:",
        "  mark": "head, path, branch, stray, open or waiting",
        "  words": "what it is known by: the first words said in it, of the answer if others have the same question",
        "  heads": "ids of the sessions whose head stands on it, this one's first",
        "  agents": "ids of the sessions that its tool calls spawned",
    },
)
@session_argument()
def tree(call: Call, session: str) -> None:
    """Draw the tree of a session's turns.

    * is the head, o a turn, x a stray (it lost a race; fork --at rescues it), + is open, ? waits for an answer.
    q is a queued message: it comes after the head, or after the turn that is open there; the lowest is the first in
    line. Heads are named in parentheses: this session's, and those of forks. Below a turn are the sub-agents it sent.
    Turns that are not on the path are dimmed."""
    store, found = call.session(session, readonly=True)
    nodes = Nodes(store, found)
    if call.json:
        call.screen.json({"session": found.id, "head": nodes.head, "turns": [nodes.json(t) for t in nodes.turns]})
        return
    with paged(call.screen) as screen:
        for row in draw(nodes.in_line(), nodes.ahead()):
            if row.turn is None:
                is_head = row.graph == BEGINNING and nodes.head is None
                screen.line((row.graph, "dim"), (" (head)" if is_head else "", "bold"))
                continue
            _print(screen, row.graph, row.turn, nodes)
            for agent in nodes.agents(row.turn.id):
                _print_agents(screen, row.below, agent, nodes)
        for agent in nodes.agents(None):
            _print_agents(screen, "", agent, nodes)


# ---------------------------------------------------------------- lines


def _print(screen: Screen, graph: str, turn: TurnInfo, nodes: Nodes) -> None:
    mark = "queued" if is_queued(turn) else nodes.mark(turn)
    narrow = 0 < screen.width < _NARROW
    digest = turn.digest.hex()[:7] if turn.digest else "-------"
    status = "queued" if is_queued(turn) else turn.status
    state = f" ({screen.sanitized(status)})" if status != "completed" else ""
    said, of = nodes.words(turn)
    heads = ", ".join(_heads(screen, turn, nodes, narrow=narrow))
    screen.line(
        graph.replace(TURN, _MARKS[mark]),
        (f" {screen.sanitized(short(turn.id))}", "yellow"),
        (("" if narrow else f" {digest}") + state, "dim"),
        (f" ({heads})" if heads else "", "bold"),
        (f" {of}:" if of and not narrow else "", "dim"),
        (f" {screen.sanitized(said)}" if said else "", _STYLES[mark]),
    )


def _heads(screen: Screen, turn: TurnInfo, nodes: Nodes, *, narrow: bool) -> Iterator[str]:
    if turn.id == nodes.head:
        yield "head"
    for other in nodes.others(turn):
        name = screen.sanitized(short(other.session_id))
        title = screen.fit(screen.sanitized(other.title or ""), _NAME)
        yield name if narrow else f"{screen.sanitized(other.relation)} {name} {title}".rstrip()


def _print_agents(screen: Screen, below: str, agent: ChildRow, nodes: Nodes) -> None:
    """A sub-agent, and under it those that it sent, which may be nested deeper than Python calls itself."""
    waiting, seen = [(agent, 0)], set()
    while waiting:
        one, level = waiting.pop()
        if one.session_id in seen:  # another program may have made a circle
            continue
        seen.add(one.session_id)
        _print_agent(screen, f"{below}   {'   ' * level}", one)
        waiting += [(child, level + 1) for child in reversed(nodes.spawned(one.session_id))]


def _print_agent(screen: Screen, before: str, agent: ChildRow) -> None:
    screen.line(
        (f"{before}\\_ ", "dim"),
        (screen.sanitized(short(agent.session_id)), "yellow"),
        f" {screen.sanitized(agent.agent)}",
        (f" ({count(agent.depth or 0, 'turn')})", "dim"),
        f" {screen.sanitized(agent.title or agent.preview or '')}",
    )
