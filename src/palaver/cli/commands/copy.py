"""`palaver copy`: one store into another. The work is `palaver.copy`."""

from __future__ import annotations

import re
import sys
from typing import Any

import click

import palaver
from palaver import Store
from palaver.core.upkeep import retention

from .. import location, resolve
from ..command import Call, command
from ..exits import OK, PROBLEMS
from ..ui.format import count
from ..ui.progress import TransferProgress
from ..ui.screen import Screen
from ..wording import worded


@command(
    "copy",
    examples=["palaver copy talks.db postgresql://db.example/talks#acme", "palaver copy $URL#acme mine.db 9fK2xQ"],
    keys={
        "source": "where it was copied from: a path, or an address without passwords",
        "target": "where it was copied to",
        "sessions": "sessions that were compared at the end",
        "copied": "sessions that went in",
        "already_there": "sessions that were there with the same content",
        "problems[]": "sessions that are not the same at the target, with:",
        "  session": "its id, or null",
        "  why": "a sentence",
        "cut[]": "texts that the target cannot hold whole: session and why",
    },
    store=False,
)
@click.argument("source")
@click.argument("target")
@click.argument("sessions", nargs=-1)
def copy(call: Call, source: str, target: str, sessions: tuple[str, ...]) -> int:
    """Copy sessions from one store to another: a file, a Postgres server.

    Each store is a path, or a Postgres address with its space behind it: postgresql://host/database#acme. TARGET is
    made if it is not there. Without SESSIONS, all of them are copied.

    A session goes in whole or not at all; what is there already stays as it is. Run it again after an interruption: it
    finishes. At the end every session is compared, by digest. Exit code 1 if one is not the same; it is named."""
    here = call.open(*location.locate(source))
    chosen = [resolve.session(here, name).id for name in sessions] or None
    there = _target(call, target, here)
    with TransferProgress() as progress:
        report = palaver.copy(here, there, chosen, progress)
    problems = [{"session": one.session, "why": worded(one.why)} for one in report.problems]
    cut = [{"session": one.session, "why": one.why} for one in report.cut]
    for one in () if call.json else problems:
        _print("problem", one)
    for one in () if call.json else cut:
        _print("cut", one)
    value = {
        "source": _address(here),
        "target": _address(there),
        "sessions": report.sessions,
        "copied": report.copied,
        "already_there": report.already_there,
        "problems": problems,
        "cut": cut,
    }
    already = f", {report.already_there:,} already there" if report.already_there else ""
    proved = f", {count(len(problems), 'problem')}" if problems else f"; {report.sessions:,} compared, all the same"
    call.done(value, f"copied {count(report.copied, 'session')}{already}{proved}")
    return PROBLEMS if problems else OK


def _target(call: Call, given: str, source: Store) -> Store:
    """A new store keeps as much of what happens as the one it is copied from."""
    url, space = location.locate(given)
    opened = call.open(url, space, create=True)
    keeps = retention.choose(source.db, None)
    if retention.choose(opened.db, None) == keeps or opened.sessions.list(limit=1, archived=True).sessions:
        return opened
    opened.close()
    return call.open(url, space, create=True, events=keeps)


def _address(store: Store) -> str:
    """As a command takes it: a space of a server stands behind a #."""
    return re.sub(r"^(postgres\S*://.*) \((.*)\)$", r"\1#\2", store.path)


def _print(word: str, told: dict[str, Any]) -> None:
    screen = Screen(sys.stderr)
    session = f"session {told['session']}: " if told["session"] else ""
    sys.stderr.write(screen.sanitized(f"{word}: {session}{told['why']}") + "\n")
