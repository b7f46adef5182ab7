"""`palaver show`: a session to read, on a terminal through the pager."""

from __future__ import annotations

import click

from palaver import Session, StoredMessage
from palaver.base.exact_json import Raw

from .. import resolve
from ..command import Call, command, session_argument
from ..ui.format import short
from ..ui.pager import paged
from ..ui.render import Renderer, turn_line
from ..ui.screen import Screen
from ..values import session_json


@command(
    "show",
    examples=["palaver show @", "palaver show 'Fix the build'~2 --detail", "palaver show 9fK2xQ --json"],
    keys={
        "session": "Session",
        "turn": "the turn that was asked for (NAME~2), or null for the head and what is open",
        "messages[]": "AI SDK UIMessages: id, role, metadata?, parts; every number as it was stored",
    },
)
@session_argument()
@click.option("--detail", is_flag=True, help="Ids, times, turns, tokens, and tool calls in full.")
@click.option("--raw", is_flag=True, help="Control characters as they are. They can take over your terminal.")
@click.option("--no-pager", is_flag=True, help="Print at once; otherwise a terminal gets PAGER.")
def show(call: Call, session: str, detail: bool, raw: bool, no_pager: bool) -> None:
    """Read a session.

    SESSION~2 shows it as it was two turns before its head. Long values are cut to a line; --detail shows them whole."""
    target = resolve.target(call.store(readonly=True), session)
    turn = target.turn.id if target.turn else None
    messages = target.session.transcript(turn)
    if call.json:
        whole = [Raw(message.json().encode()) for message in messages]
        call.screen.json({"session": session_json(target.session.info), "turn": turn, "messages": whole})
        return
    call.screen.raw = raw
    with paged(call.screen, wanted=not no_pager) as screen:
        _heading(screen, target)
        _print(screen, target.session, messages, detail=detail)


def _heading(screen: Screen, target: resolve.Target) -> None:
    info = target.session.info
    title = screen.sanitized(info.title or info.preview or "")
    at = f" at {short(target.turn.id)}" if target.turn else ""
    state = " archived" if info.archived_at else ""
    screen.line(
        (f"{screen.sanitized(info.id)}{at}", "yellow"),
        (f" {screen.sanitized(info.agent)}{state} ", "dim"),
        (title, "bold"),
    )


def _print(screen: Screen, session: Session, messages: list[StoredMessage], *, detail: bool) -> None:
    renderer = Renderer(screen, detail=detail)
    turns = {turn.id: turn for turn in session.tree()} if detail else {}
    last: str | None = None
    for message in messages:
        screen.say()
        if message.turn_id != last and message.turn_id in turns:
            screen.say(turn_line(screen, turns[message.turn_id]))
        last = message.turn_id
        renderer.message(message)
