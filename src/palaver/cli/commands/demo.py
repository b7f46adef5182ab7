"""`palaver demo`: what demo_story.py does, told on the terminal; and, where the store is kept, what to try on it."""

from __future__ import annotations

import io
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial

import click

from palaver import Session
from palaver.base.address import is_server

from .. import demo_story
from ..command import Call, command
from ..exits import USAGE, Stop
from .tree import tree


@command(
    "demo",
    examples=["palaver demo", "palaver demo --keep talks.db"],
    keys={
        "lines": "what the demo said, line by line",
        "store": "where its store was left, or null",
        "next": "commands to try on it; none if it was not kept",
    },
    store=False,
)
@click.option("--keep", metavar="FILE", help="Leave the store there, in a new file, and say what to try on it.")
def demo(call: Call, keep: str | None) -> None:
    """Record a scripted agent, fork, rewind, and prove that nothing was lost.

    It works on a store of its own, in a temporary directory that it removes, or in the file that --keep names."""
    told: list[str] = []
    say = partial(_say, call, told)
    with _place(keep) as path:
        demo_story.run(path, say, lambda session: say(_drawn(path, session)))
        commands = _commands(path) if keep else []
    if commands:
        say(f"\nThe store is {path}. Try:\n" + "\n".join(f"    {command}" for command in commands))
    if call.json:
        call.screen.json({"lines": told, "store": keep and path, "next": commands})


def _say(call: Call, told: list[str], text: str) -> None:
    if call.json:
        told.extend(text.split("\n"))
    else:
        call.screen.say(call.screen.sanitized(text, lines=True))


@contextmanager
def _place(keep: str | None) -> Iterator[str]:
    """Where the store is to be: a new file that stays, or a directory that goes."""
    if keep is None:
        from tempfile import TemporaryDirectory

        with TemporaryDirectory(prefix="palaver-demo-") as folder:
            yield os.path.join(folder, "talks.db")
        return
    path = os.path.expanduser(keep)
    if not keep or is_server(keep):
        raise Stop(USAGE, "--keep names a new file, such as talks.db", "Usage")
    if os.path.lexists(path):
        raise Stop(USAGE, f"there is something at {path} already; --keep names a new file", "Exists")
    yield path


def _drawn(path: str, session: Session) -> str:
    """What `palaver tree` prints."""
    out = io.TextIOWrapper(io.BytesIO(), encoding=sys.stdout.encoding, errors="backslashreplace")
    with redirect_stdout(out):
        click.get_current_context().invoke(tree, store=path, session=session.id, json=False)
    out.seek(0)
    return "\n".join(f"   {line}" for line in out.read().splitlines())


def _commands(path: str) -> list[str]:
    store, talk = shlex.quote(path), shlex.quote(demo_story.TITLE)
    given = ["ls", f"show {talk}", f"tree {talk}", f"fork {talk}~2 --title 'My own way'", "verify"]
    return [f"palaver --store {store} {words}" for words in given]
