"""`palaver log`: the reflog. Every line is a move of the head; any of them can be gone back to."""

from __future__ import annotations

from palaver import Line, Session, Store, TurnInfo

from ..command import Call, command, session_argument
from ..ui.facts import turn_blocks
from ..ui.format import age, moment, short
from ..ui.pager import paged
from ..ui.render import Renderer
from ..ui.screen import Screen
from ..ui.words import first_words, summary
from ..ui.wrap import wrap
from ..values import line_json

_NARROW = 60  # columns below which a time is told by how long ago it was


@command(
    "log",
    examples=["palaver log @", "palaver log 9fK2xQ --json"],
    keys={"session": "its id", "lines[]": "Line, newest first"},
)
@session_argument()
def log(call: Call, session: str) -> None:
    """List every move of a session's head, newest first.

    Each line: the revision, when, what moved it, the turn it went to, and why. Below the line that brought a turn: its
    first words, its model, tokens, cost and finish reason, its error or why it was aborted, and the tools, prompt and
    permissions."""
    store, found = call.session(session, readonly=True)
    lines = found.history()
    if call.json:
        call.screen.json({"session": found.id, "lines": [line_json(line) for line in lines[::-1]]})
        return
    turns = {turn.id: turn for turn in found.tree()}
    brought = {line.seq: turns.pop(line.turn_id) for line in lines if line.turn_id in turns}
    widest = max((len(_place(line)) for line in lines), default=0)
    with paged(call.screen) as screen:
        for line in lines[::-1]:
            _print(screen, line, widest)
            if line.seq in brought:
                _print_turn(Renderer(screen), store, found, brought[line.seq])


def _place(line: Line) -> str:
    """As it is typed."""
    return f"@{{{line.revision}}}"


def _print(screen: Screen, line: Line, widest: int) -> None:
    turn = short(line.turn_id) if line.turn_id else "-"
    narrow = 0 < screen.width < _NARROW
    where = screen.sanitized(f"{turn} {line.reason or ''}".rstrip())
    screen.line(
        (_place(line).ljust(widest), "yellow"),
        (f" {age(line.at) if narrow else moment(line.at)} ", "dim"),
        (screen.sanitized(line.kind), "bold"),
        "" if narrow else f" {where}",
    )
    for rest in wrap(where, screen.width, first="  ", rest="  ") if narrow else ():
        screen.say(rest)


def _print_turn(renderer: Renderer, store: Store, session: Session, turn: TurnInfo) -> None:
    """What it is known by, then what is known of it."""
    screen, messages = renderer.screen, session.messages_of(turn.id)
    said = summary(messages) if turn.kind == "compaction" else next(filter(None, map(first_words, messages)), "")
    if said:
        screen.say(screen.fit(f"  {screen.sanitized(said)}"))
    renderer.blocks([*turn_blocks(screen, turn, store.system_prompt)])
