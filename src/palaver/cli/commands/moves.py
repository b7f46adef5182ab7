"""Moving heads: fork, rewind, undo, redo. Nothing is deleted by any of them; `palaver log` lists every move."""

from __future__ import annotations

import click

from palaver import NotOnPath, Session

from .. import resolve
from ..command import Call, command, session_argument
from ..exits import USAGE, Stop
from ..ui.format import count, short
from ..values import session_json
from .names import check_title

KEYS = {"session": "Session, as it is now"}
_EXPECTED = click.option(
    "--expected", type=int, metavar="REVISION", help="Only if the head is still at this revision; else exit 5."
)


@command(
    "fork",
    examples=[
        "palaver fork @",
        "palaver fork @~2 --title 'Another way'",
        "palaver fork 9fK2xQ --at 7bTq2c",
        "palaver fork 9fK2xQ@{4}",
    ],
    keys=KEYS,
)
@session_argument()
@click.option("--at", metavar="TURN|MESSAGE", help="Where: a turn, a message, ~2 or @{4}. Default: the head.")
@click.option("--title", help="The new session's title.")
@click.option("--copy", is_flag=True, help="Copy the shared rows, for programs that know only the contract's tables.")
def fork(call: Call, session: str, at: str | None, title: str | None, copy: bool) -> None:
    """Make a new session that shares everything up to a turn or a message.

    Nothing is copied: a fork is one row and one pointer, however long the talk."""
    if title is not None:
        check_title(call, title, "an empty title is no title: leave --title out")
    origin, where = _find(call, session, at)
    with resolve.saying_what_was_looked_for(origin, at):
        made = origin.fork(at=where, title=title, copy=copy)
    _report(call, made, f"forked {short(origin.id)} as {made.id}")


@command(
    "rewind",
    examples=["palaver rewind @~2", "palaver rewind 9fK2xQ --to msg_0199a5c4", "palaver rewind 9fK2xQ@{4}"],
    keys=KEYS,
)
@session_argument()
@click.option("--to", metavar="TURN|MESSAGE", help="A turn, a message to stay as the last one, ~2 or @{4}.")
@click.option("--reason", help="Kept in the log.")
@_EXPECTED
def rewind(call: Call, session: str, to: str | None, reason: str | None, expected: int | None) -> None:
    """Go back to a turn or a message; nothing is lost.

    `palaver undo` returns. SESSION~2 goes two turns back, SESSION@{4} to where the head was at that line of
    `palaver log`, also on a branch that it has left."""
    found, where = _find(call, session, to)
    if where is None:
        raise Stop(USAGE, "say where to: SESSION~2, SESSION@{4}, or --to TURN or MESSAGE", "Usage")
    place = resolve.place_of(session if to is None else to)
    with resolve.saying_what_was_looked_for(found, to):
        try:
            found.rewind(to=where, expected=expected, reason=reason)
        except NotOnPath:
            if place is None or place.revision is None:
                raise
            found.move(where, found.revision if expected is None else expected, reason)
    _report(call, found, f"rewound {short(found.id)}")


@command("undo", examples=["palaver undo @"], keys=KEYS)
@session_argument()
@_EXPECTED
def undo(call: Call, session: str, expected: int | None) -> None:
    """Take back the last move of a session's head.

    Again: the one before it. `palaver redo` goes forward."""
    _, found = call.session(session)
    found.undo(expected=expected)
    _report(call, found, f"undid the last move of {short(found.id)}")


@command("redo", examples=["palaver redo @"], keys=KEYS)
@session_argument()
@_EXPECTED
def redo(call: Call, session: str, expected: int | None) -> None:
    """Take back an undo."""
    _, found = call.session(session)
    found.redo(expected=expected)
    _report(call, found, f"redid a move of {short(found.id)}")


def _find(call: Call, name: str, option: str | None) -> tuple[Session, str | None]:
    """The session, and the turn or message that was named by `NAME~2` or by an option."""
    target = resolve.target(call.store(), name)
    if target.turn and option is not None:
        raise Stop(USAGE, "name the place once: SESSION~2, or the option", "Usage")
    if target.turn:
        return target.session, target.turn.id
    return target.session, None if option is None else resolve.turn_or_message(target.session, option)


def _report(call: Call, session: Session, did: str) -> None:
    info = session.info
    held = f"{count(info.messages, 'message')} in {count(info.turns, 'turn')}, revision {info.revision}"
    call.done({"session": session_json(session)}, f"{did}: {held}")
