"""Many real processes on one file, each with one job of `jobs.py`; and what is looked at while they work."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from ..tools.puppet import LONG, PATIENCE, Crew

CREW = Crew("tests.load.jobs", LONG)


class Watch:
    """Looks at a number again and again while a block runs; keeps the greatest."""

    def __init__(self, look: Callable[[], int]) -> None:
        self._look = look
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.greatest = 0

    def _watch(self) -> None:
        while not self._over.wait(0.01):
            self.greatest = max(self.greatest, self._look())

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(PATIENCE)


def wal_size(path: str) -> int:
    """Without opening it: closing a file of the database would drop the locks of whoever has it open here."""
    try:
        return os.stat(path + "-wal").st_size
    except FileNotFoundError:
        return 0
