"""`palaver log`: the reflog. Every line is a move of the head; any of them can be gone back to."""

from __future__ import annotations

from palaver import Line

from ..command import Call, command, session_argument
from ..ui.format import moment, short
from ..ui.pager import paged
from ..ui.screen import Screen
from ..values import line_json


@command(
    "log",
    examples=["palaver log @", "palaver log 9fK2xQ --json"],
    keys={"session": "its id", "lines[]": "Line, newest first"},
)
@session_argument()
def log(call: Call, session: str) -> None:
    """List every move of a session's head, newest first.

    Each line: the revision, when, what moved it, the turn it went to, and why."""
    _, found = call.session(session, readonly=True)
    lines = found.history()[::-1]
    if call.json:
        call.screen.json({"session": found.id, "lines": [line_json(line) for line in lines]})
        return
    with paged(call.screen) as screen:
        for line in lines:
            _print(screen, line)


def _print(screen: Screen, line: Line) -> None:
    turn = short(line.turn_id) if line.turn_id else "-"
    screen.line(
        (f"@{{{line.revision}}}", "yellow"),
        (f" {moment(line.at)} ", "dim"),
        (screen.sanitized(line.kind), "bold"),
        f" {screen.sanitized(turn)} ",
        screen.sanitized(line.reason or ""),
    )
