"""How far a long command is: a bar on a terminal's stderr, drawn by `rich` and gone at the end.

`verify` and `reindex` are mostly done in a moment, and say nothing then. If they take longer, they show how far they
are; in a pipe, which a program reads or a log keeps, by a line now and then.
"""

from __future__ import annotations

import sys

from palaver.base.clock import monotonic

from .format import count, size

TYPE_CHECKING = False  # typing's own would cost its import
if TYPE_CHECKING:
    from typing import Self

    from rich.progress import Progress

_MOMENT, _LONG = 2.0, 10.0  # seconds
_BLINK = 0.1  # seconds in which nobody sees two pictures


class _Bar:
    """Mostly nobody knows how much there is to do: the bar moves while something is done, and the text counts."""

    def __init__(self) -> None:
        self._drawn: Progress | None = None
        self._drawn_at = 0.0
        self._tty = sys.stderr.isatty()

    def _show(self, text: str, done: int = 0, of: int | None = None) -> None:
        """`of`: how much there is to do, where that is known."""
        if self._tty and monotonic() - self._drawn_at >= _BLINK:
            self._drawn = self._drawn or _begin()
            self._drawn.update(self._drawn.task_ids[0], description=text, completed=done, total=of, refresh=True)
            self._drawn_at = monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._drawn:
            self._drawn.stop()


def _begin() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(bar_width=20), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(file=sys.stderr), transient=True, auto_refresh=False)
    bar.add_task("", total=None)
    bar.start()
    return bar


class TransferProgress(_Bar):
    """Sessions and bytes so far."""

    def __call__(self, sessions: int, done: int) -> None:
        self._show(f"{count(sessions, 'session')}, {size(done)}")


class DeletingProgress(_Bar):
    """Sessions that were deleted so far, once it takes longer than a moment."""

    def __init__(self) -> None:
        super().__init__()
        self._began = monotonic()

    def __call__(self, sessions: int) -> None:
        if monotonic() - self._began >= _MOMENT:
            self._show(f"deleted {count(sessions, 'session')}")


class _Patient(_Bar):
    """For what is mostly done in a moment; in a pipe, too."""

    def __init__(self) -> None:
        super().__init__()
        self._began = self._told = monotonic()

    def _tell(self, text: str, done: int = 0, of: int | None = None) -> None:
        now = monotonic()
        if now - self._began >= _MOMENT:
            self._show(text, done, of)
        if not self._tty and now - self._told >= _LONG:
            self._told = now
            sys.stderr.write(f"{text} so far\n")
            sys.stderr.flush()


class VerifyProgress(_Patient):
    """Turns and sessions that were looked at so far."""

    def __call__(self, turns: int, sessions: int) -> None:
        self._tell(f"looked at {count(turns, 'turn')}, {count(sessions, 'session')}")


class IndexProgress(_Patient):
    """Turns that were indexed so far, of all."""

    def __call__(self, turns: int, of: int) -> None:
        self._tell(f"indexed {turns:,} of {count(of, 'turn')}", turns, of)
