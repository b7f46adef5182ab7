"""How far a long command is, on one line of a terminal's stderr."""

from __future__ import annotations

import sys

from .words import count, size


class Progress:
    """Sessions and bytes so far."""

    def __init__(self) -> None:
        self._shown = False
        self._tty = sys.stderr.isatty()

    def __call__(self, sessions: int, done: int) -> None:
        if self._tty:
            self._shown = True
            sys.stderr.write(f"\r{count(sessions, 'session')}, {size(done)} ")

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
