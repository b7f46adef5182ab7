"""The jobs of a store: flush what is held back, renew the sign of life, trim, fill, index, recover."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from ..base.clock import monotonic
from ..core.upkeep.trim_slices import Slices
from ..db.engine import Database
from ..errors import PalaverError
from .maintenance import AGAIN

if TYPE_CHECKING:
    from ..core.upkeep.tending import Tending
    from ..turn import Turn
    from .liveness import Owner

_REST = 0.005  # seconds between two slices of a trim,
_BREATH = 0.02  # and at least between two batches of the index, in which others write;
_LEISURE = 2  # or so many times as long as the batch took


class Flush:
    """Writes what a stream that stalled holds back longer than its save policy allows."""

    def __init__(self, turns: Iterable[Turn]) -> None:
        self._turns = turns
        self._at: float | None = None

    def soon(self) -> None:
        """A turn began to hold something back."""
        self._at = 0.0

    def due(self, now: float) -> float | None:
        return None if self._at is None else self._at - now

    def run(self) -> None:
        """One turn that cannot be written does not keep the others waiting; its own writer meets the error."""
        self._at, failures, waits = None, list[Exception](), list[float]()
        for turn in self._turns:
            try:
                left = turn._flush_old()
            except PalaverError as error:
                failures.append(error)
            else:
                waits += [] if left is None else [left]
        if failures:
            waits.append(AGAIN)
        if waits:
            again = monotonic() + min(waits)
            self._at = again if self._at is None else min(self._at, again)  # a turn may have asked meanwhile
        if failures:
            raise ExceptionGroup("chunks that are held back were not written", failures)


class Renew:
    """Renews the sign of life where the engine asks for it."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._renewed_at = monotonic()

    def due(self, now: float) -> float | None:
        return None if self._owner.every is None else self._renewed_at + self._owner.every - now

    def run(self) -> None:
        self._renewed_at = monotonic()
        self._owner.renew()


class Trim:
    """Takes away the chunks of sealed turns, in slices. A store that never streamed trims nothing."""

    def __init__(self, slices: Slices, after: float) -> None:
        self._slices = slices
        self._after = after
        self._at: float | None = None

    def soon(self) -> None:
        """The store begins to stream: others may have left chunks."""
        self._at = monotonic()

    def later(self) -> bool:
        """A turn was sealed: schedule a trim. False: one is scheduled already."""
        if self._at is not None:
            return False
        self._at = monotonic() + self._after
        return True

    def look(self) -> None:
        """Turns may have been sealed by others."""
        if self._at is None and self._slices.are_any_left():
            self.later()

    def due(self, now: float) -> float | None:
        return None if self._at is None else self._at - now

    def run(self) -> None:
        if self._slices.trim_one():
            self._at = monotonic() + _REST
        else:
            self._at = None
            self.look()


class Look:
    """Each second: looks whether somebody else ended one of the open turns."""

    _EVERY = 1.0

    def __init__(self, turns: Collection[Turn]) -> None:
        self._turns = turns
        self._looked_at = monotonic()

    def due(self, now: float) -> float | None:
        return self._looked_at + self._EVERY - now if len(self._turns) else None

    def run(self) -> None:
        self._looked_at = monotonic()
        for turn in self._turns:
            turn._look()


class Fill:
    """Fills what an older version or an import left empty in turns, in slices; it looks now and then."""

    _EVERY = 30.0

    def __init__(self, db: Database) -> None:
        self._db = db
        self._at = 0.0

    def due(self, now: float) -> float | None:
        return self._at - now

    def run(self) -> None:
        from ..core.upkeep.filling import fill_slice

        self._at = monotonic() + (_REST if fill_slice(self._db) else self._EVERY)


class Index:
    """Indexes what was sealed, for search, in batches; a little after, so that nobody who writes waits for it. When
    nothing is left, it tends the index."""

    _AFTER = 1.0  # seconds
    _EVERY = 30.0

    def __init__(self, db: Database) -> None:
        self._db = db
        self._tending: Tending | None = None
        self._at = monotonic() + self._AFTER
        self.has_work = self._heard = False

    def later(self) -> bool:
        """Something was sealed. False: it is looked at soon already, by a thread that was told so."""
        is_news, self.has_work, self._heard = not self.has_work, True, True
        soon = monotonic() + self._AFTER
        if self._at <= soon:
            return is_news
        self._at = soon
        return True

    def due(self, now: float) -> float | None:
        return self._at - now

    def run(self) -> None:
        """Of the time, a third: while others write, they wait for it, or for Python."""
        from ..core.upkeep.indexing import index_batch

        began, self._heard = monotonic(), False
        is_more = bool(index_batch(self._db))
        self.has_work = is_more or self._heard
        is_tending = not self.has_work and self.tend()
        rest = max(_BREATH, _LEISURE * (monotonic() - began)) if is_more or is_tending else self._EVERY
        self._at = monotonic() + (self._AFTER if self._heard and not is_more else rest)

    def tend(self) -> bool:
        """A step of merging and comparing; whether there is more."""
        from ..core.upkeep.tending import Tending

        self._tending = self._tending or Tending(self._db)
        return self._tending.step()

    def run_all(self, seconds: float) -> None:
        """All that there is to index, for at most so long."""
        from ..core.upkeep.indexing import index_all

        index_all(self._db, seconds=seconds)


class Recover:
    """Every `recover_every` seconds: seals the turns whose writer died. Their chunks are trimmed like others."""

    def __init__(self, recover: Callable[[], object], every: float | None, trim: Trim) -> None:
        self._recover = recover
        self._every = every
        self._trim = trim
        self._recovered_at = monotonic()

    def due(self, now: float) -> float | None:
        return None if self._every is None else self._recovered_at + self._every - now

    def run(self) -> None:
        self._recover()
        self._recovered_at = monotonic()
        self._trim.look()
