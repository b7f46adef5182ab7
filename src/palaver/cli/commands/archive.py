"""`palaver archive` and `palaver rm`: sessions taken off the list, or deleted; `--undo` brings them back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from palaver import Session, SessionInfo

from .. import idle, resolve
from ..asking import ask
from ..command import Age, Call, SessionName, command
from ..exits import USAGE, Stop
from ..ui.format import count, moment, short
from ..ui.screen import Screen, say_aside
from ..values import session_json, sessions_json

KEYS = {"sessions[]": "Session, as each is now"}


@command("archive", examples=["palaver archive @", "palaver archive 9fK2xQ --undo"], keys=KEYS)
@click.argument("sessions", nargs=-1, required=True, type=SessionName())
@click.option("--undo", is_flag=True, help="Bring them back.")
def archive(call: Call, sessions: tuple[str, ...], undo: bool) -> None:
    """Make sessions read-only and take them off the list.

    `palaver ls --all` still shows them. Turns already open may finish."""
    store = call.store()
    found = _each_once([resolve.session(store, name) for name in sessions])
    done = [one for one in found if (one.info.archived_at is None) == undo]
    for one in done:
        say_aside(f"{short(one.id)} is {'not archived' if undo else 'archived already'}", json=call.json)
    if undo:
        _do(call, found, Session.unarchive, "brought back", but=done)
    else:
        _do(call, found, Session.archive, "archived", but=done)


@command(
    "rm",
    examples=[
        "palaver rm 9fK2xQ",
        "palaver rm --list",
        "palaver rm --undo 9fK2xQ",
        "palaver rm --undo @",
        "palaver rm --older-than 90d --ended",
        "palaver rm --older-than 90d --ended --source slack --yes",
    ],
    keys={
        "sessions[]": "Session, as each is now; with --list, those that were deleted; with --older-than and without"
        " --yes, those that would be"
    },
)
@click.argument("sessions", nargs=-1, type=SessionName())
@click.option("-y", "--yes", is_flag=True, help="Do not ask; only a terminal is asked. With --older-than: delete.")
@click.option("--undo", is_flag=True, help="Bring deleted sessions back; @ is the one that was deleted last.")
@click.option("--list", "listing", is_flag=True, help="List deleted sessions, the last one first.")
@click.option("--older-than", type=Age(), help="All in which nothing was said for so long: 90d, 12h, 2w …")
@click.option("--ended", is_flag=True, help="With --older-than: only those that were ended.")
@click.option("--source", help="With --older-than: only those that came by this way: slack, api …")
@click.option("-a", "--all", "archived", is_flag=True, help="With --older-than: archived ones, too.")
def rm(
    call: Call, sessions: tuple[str, ...], yes: bool, undo: bool, listing: bool, older_than: int | None, **which: Any
) -> None:
    """Delete sessions; forks keep what they share.

    They leave every list but that of --list. --undo brings them back, as long as nothing has erased them for good.

    With --older-than, those are listed whose last message is older than that (or which are, if they have none), with
    when it was; --yes deletes them. What was said exactly so long ago is not older. Sessions that are being written are
    left alone. AGE is a whole number with s, m, h, d or w: seconds, minutes, hours, days, weeks."""
    _refuse_unclear(sessions, undo, listing, by_age=older_than is not None)
    _refuse_half_of_age(older_than, sessions, undo or listing, which)
    if older_than is not None:
        (idle.delete if yes else idle.preview)(call, idle.Idle(older_than, **which))
        return
    if listing:
        _list(call)
        return
    store = call.store()
    find = resolve.deleted_session if undo else resolve.session
    found = _each_once([find(store, name) for name in sessions])
    if not (undo or yes or call.json):
        _ask(found)
    if undo:
        _do(call, found, Session.undelete, "brought back")
    else:
        _do(call, found, Session.delete, "deleted")


def _refuse_unclear(sessions: tuple[str, ...], undo: bool, listing: bool, *, by_age: bool) -> None:
    if listing and (undo or sessions):
        raise Stop(USAGE, "--list lists all that were deleted, and changes nothing; give it by itself", "Usage")
    if not (listing or sessions or by_age):
        raise Stop(USAGE, f"say which session to {'bring back' if undo else 'delete'}", "Usage")


def _refuse_half_of_age(older_than: int | None, sessions: tuple[str, ...], other: bool, which: dict[str, Any]) -> None:
    """What goes with an age goes with nothing else."""
    if older_than is not None and (sessions or other):
        raise Stop(USAGE, "--older-than says which sessions: give it without names, --undo and --list", "Usage")
    if older_than is None and any(which.values()):
        raise Stop(USAGE, "--ended, --source and --all go with --older-than, which says how old", "Usage")


def _list(call: Call) -> None:
    store = call.store(readonly=True)
    found = list(store.sessions.list(deleted=True, limit=500))
    if call.json:
        call.screen.json({"sessions": sessions_json(store, found)})
        return
    screen = call.screen
    for one in found:
        shown = short(one.id) if screen.tty else one.id
        when = moment(one.deleted_at or 0)
        screen.line((screen.sanitized(shown), "yellow"), (f" {when} ", "dim"), (screen.sanitized(_label(one)), "bold"))
    if screen.tty:
        screen.say("`palaver rm --undo` brings one back" if found else "nothing was deleted")


def _label(info: SessionInfo) -> str:
    return info.title or info.preview or info.agent


def _ask(found: list[Session]) -> None:
    """What it is about comes where the question comes: stdout may be anybody's."""
    if not sys.stdin.isatty():
        return
    screen = Screen(sys.stderr)
    for one in found:
        info = one.info
        label = screen.sanitized(_label(info))
        screen.line(f"{screen.sanitized(info.id)} {count(info.messages, 'message')} ", (label, "bold"))
    screen.out.flush()
    ask(f"Delete {count(len(found), 'session')}?", otherwise="nothing was deleted")


def _each_once(found: list[Session]) -> list[Session]:
    """A session may be given by two of its names."""
    return list({one.id: one for one in found}.values())


def _do(
    call: Call, found: list[Session], act: Callable[[Session], object], did: str, but: Sequence[Session] = ()
) -> None:
    """Act on each `but` some, that are so already. If one refuses, it is still said what was done before."""
    done: list[Session] = []
    try:
        for one in found:
            if one not in but:
                act(one)
            done.append(one)
    finally:
        _report(call, done, did, but)


def _report(call: Call, found: list[Session], did: str, but: Sequence[Session]) -> None:
    if call.json and found:
        call.screen.json({"sessions": [session_json(one) for one in found]})
        return
    named = [short(one.id) for one in found if one not in but]
    if named:
        call.screen.say(call.screen.sanitized(f"{did} {', '.join(named)}"))
