"""What core verbs need to know about the process they run in."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..db.engine import Tx
from .head_cache import HeadCache

IsDead = Callable[[Tx, str], bool]
_MANY = 10_000


class Runtime:
    """Who is dead, which sessions were scanned for rows of other programs, the heads that this process moved last."""

    def __init__(self, is_dead: IsDead) -> None:
        self.is_dead = is_dead
        self.scans = ScanLog()
        self.glances = ScanLog()  # the same, of those who only read
        self.head_cache = HeadCache()


class Scan(NamedTuple):
    """A scan that found nothing: when it was, by the engine's counts of what others wrote and of message rows."""

    generation: int | None
    watermark: int | None


class ScanLog:
    """The last scan of each session by this process. Where nobody else wrote since, there is nothing to find; where the
    engine numbers its rows, only the new ones are read."""

    def __init__(self) -> None:
        self._done: dict[str, Scan] = {}

    def last(self, session_id: str) -> Scan | None:
        """The last scan that found nothing; None: this process has not scanned yet."""
        return self._done.get(session_id)

    def is_fresh(self, session_id: str, generation: int | None) -> bool:
        """Nobody else has written since this process scanned here."""
        last = self._done.get(session_id)
        return last is not None and generation is not None and last.generation == generation

    def done(self, session_id: str, generation: int | None, watermark: int | None) -> None:
        if len(self._done) > _MANY:
            self._done.clear()
        self._done[session_id] = Scan(generation, watermark)

    def found(self, session_id: str) -> None:
        """Something lies there: it is scanned again until it is adopted."""
        last = self._done.get(session_id)
        if last is not None:
            self._done[session_id] = Scan(None, last.watermark)
