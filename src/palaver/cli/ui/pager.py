"""The pager: what is long is shown through PAGER (`less` if it is not set), on a terminal only."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .screen import Screen

if TYPE_CHECKING:
    from subprocess import Popen


@contextmanager
def paged(screen: Screen, *, wanted: bool = True) -> Iterator[Screen]:
    """A screen to print on; through a pager if there is a terminal and a pager."""
    command = _command() if wanted and screen.tty else None
    if command is None:
        yield screen
        return
    out, pager = screen.out, _start(command, screen)
    assert pager.stdin
    screen.out = pager.stdin
    try:
        yield screen
    except BrokenPipeError:  # the reader quit before the end: that is what pagers are for
        pass
    finally:
        screen.out = out
        _wait(pager)


def _command() -> str | None:
    """PAGER is a shell command line, as everywhere; None if there is none to run."""
    command = os.environ.get("PAGER", "less")
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    return command if words and words[0] != "cat" and shutil.which(words[0]) else None


def _start(command: str, screen: Screen) -> Popen[str]:
    """less is told to end if one screen is enough, and to keep colours."""
    from subprocess import PIPE, Popen

    screen.out.flush()
    environment = {"LESS": "FRX", **os.environ}
    return Popen(
        command,
        shell=True,
        stdin=PIPE,
        env=environment,
        text=True,
        encoding=screen.encoding,
        errors="backslashreplace",
    )


def _wait(pager: Popen[str]) -> None:
    """Ctrl-C is the pager's while it runs."""
    assert pager.stdin
    try:
        pager.stdin.close()
    except BrokenPipeError:
        pass
    while True:
        try:
            pager.wait()
            return
        except KeyboardInterrupt:
            continue
