"""How far a long command is, on one line of a terminal's stderr.

`verify` is mostly done in a moment, and says nothing then. If it takes longer, it shows how far it is; in a pipe, which
a program reads or a log keeps, by a line now and then.
"""

from __future__ import annotations

import sys

from palaver.base.clock import monotonic

from .format import count, size

TYPE_CHECKING = False  # typing's own would cost its import
if TYPE_CHECKING:
    from typing import Self

_MOMENT, _LONG = 2.0, 10.0  # seconds


class _Line:
    """What stands there now is written over, and gone at the end."""

    def __init__(self) -> None:
        self._shown = False
        self._tty = sys.stderr.isatty()

    def _show(self, text: str) -> None:
        if self._tty:
            self._shown = True
            sys.stderr.write(f"\r{text} ")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")


class TransferProgress(_Line):
    """Sessions and bytes so far."""

    def __call__(self, sessions: int, done: int) -> None:
        self._show(f"{count(sessions, 'session')}, {size(done)}")


class VerifyProgress(_Line):
    """Turns and sessions that were looked at so far; in a pipe, too."""

    def __init__(self) -> None:
        super().__init__()
        self._began = self._told = monotonic()

    def __call__(self, turns: int, sessions: int) -> None:
        text = f"looked at {count(turns, 'turn')}, {count(sessions, 'session')}"
        now = monotonic()
        if now - self._began >= _MOMENT:
            self._show(text)
        if not self._tty and now - self._told >= _LONG:
            self._told = now
            sys.stderr.write(f"{text} so far\n")
            sys.stderr.flush()
