"""`palaver archive` and `palaver rm`: sessions taken off the list, or deleted; `--undo` brings them back."""

from __future__ import annotations

import sys
from typing import Any

import click

from palaver import Session, Store

from .. import resolve
from ..command import Call, SessionName, command
from ..ui.format import count, short
from ..values import session_json

KEYS = {"sessions[]": "Session, as each is now"}
_SESSIONS = click.argument("sessions", nargs=-1, required=True, type=SessionName())


@command("archive", examples=["palaver archive @", "palaver archive 9fK2xQ --undo"], keys=KEYS)
@_SESSIONS
@click.option("--undo", is_flag=True, help="Bring them back.")
def archive(call: Call, sessions: tuple[str, ...], undo: bool) -> None:
    """Make sessions read-only and take them off the list.

    `palaver ls --all` still shows them. Turns already open may finish."""
    store = call.store()
    found = [resolve.session(store, name) for name in sessions]
    for one in found:
        (one.unarchive if undo else one.archive)()
    _report(call, found, "brought back" if undo else "archived")


@command("rm", examples=["palaver rm 9fK2xQ", "palaver rm 9fK2xQ --undo"], keys=KEYS)
@_SESSIONS
@click.option("-y", "--yes", is_flag=True, help="Do not ask. Only a terminal is asked.")
@click.option("--undo", is_flag=True, help="Bring deleted sessions back.")
def rm(call: Call, sessions: tuple[str, ...], yes: bool, undo: bool) -> None:
    """Delete sessions; forks keep what they share.

    They leave every list. --undo brings them back, as long as nothing has erased them for good."""
    store = call.store()
    found = _deleted(store, sessions) if undo else [resolve.session(store, name) for name in sessions]
    if not (undo or yes or call.json):
        _ask(call, found)
    for one in found:
        (one.undelete if undo else one.delete)()
    _report(call, found, "brought back" if undo else "deleted")


def _deleted(store: Store, wanted: tuple[str, ...]) -> list[Session]:
    return [resolve.session(store, name, deleted=True) for name in wanted]


def _ask(call: Call, found: list[Session]) -> None:
    if not sys.stdin.isatty():
        return
    for one in found:
        info = one.info
        label = call.screen.sanitized(info.title or info.preview or info.agent)
        call.screen.line(f"{call.screen.sanitized(info.id)} {count(info.messages, 'message')} ", (label, "bold"))
    click.confirm(f"Delete {count(len(found), 'session')}?", abort=True, err=True)


def _report(call: Call, found: list[Session], did: str) -> None:
    shown: dict[str, Any] = {"sessions": [session_json(one.info) for one in found]}
    call.done(shown, f"{did} {', '.join(short(one.id) for one in found)}")
