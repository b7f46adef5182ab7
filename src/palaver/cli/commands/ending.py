"""`palaver stop`, `end` and `reopen`: a turn that runs is ended; a session is said to be over, or not."""

from __future__ import annotations

import click

from palaver import Session

from .. import resolve
from ..command import Call, command, session_argument
from ..exits import CONFLICT, Stop
from ..ui.format import count, short
from ..ui.screen import say_aside
from ..values import session_json

KEYS = {"session": "Session, as it is now"}


@command(
    "stop",
    examples=["palaver stop @", "palaver stop 9fK2xQ --reason 'Wrong branch.'"],
    keys={"session": "its id", "stopped": "the ids of the turns that were stopped"},
)
@session_argument()
@click.option("--turn", metavar="TURN", help="Only this one. Default: all that are written or wait, on the head.")
@click.option("--reason", help="Why; it is kept, and the agent is told.")
def stop(call: Call, session: str, turn: str | None, reason: str | None) -> None:
    """End the turns that are being written or wait for an answer.

    Each is sealed as aborted, with all that is on disk; its agent, in whatever process, learns it with the next word it
    writes. Exit code 5 if nothing is open."""
    _, found = call.session(session)
    stopped = found.stop(None if turn is None else resolve.turn_or_message(found, turn), reason)
    if not stopped:
        raise Stop(CONFLICT, f"nothing in session {short(found.id)} is being written or waits", "NothingToStop")
    named = ", ".join(map(short, stopped))
    said = f"stopped {count(len(stopped), 'turn')} of {short(found.id)}: {named}"
    call.done({"session": found.id, "stopped": stopped}, said)


@command("end", examples=["palaver end @", "palaver end 9fK2xQ 'The ticket is closed.'"], keys=KEYS)
@session_argument()
@click.argument("reason", required=False)
def end(call: Call, session: str, reason: str | None) -> None:
    """Say that a session is over, and why.

    It can go on all the same; `palaver reopen` takes it back. To make it read-only, archive it."""
    _, found = call.session(session)
    found.end(reason)
    _report(call, found, "ended")


@command("reopen", examples=["palaver reopen @"], keys=KEYS)
@session_argument()
def reopen(call: Call, session: str) -> None:
    """Say that a session is not over after all."""
    _, found = call.session(session)
    if found.info.ended_at is None:
        say_aside(f"{short(found.id)} was not ended", json=call.json)
    found.reopen()
    _report(call, found, "reopened")


def _report(call: Call, session: Session, did: str) -> None:
    call.done({"session": session_json(session)}, f"{did} {short(session.id)}")
