"""The background of a store: who writes, which turns this process has open, who follows, and the jobs of maintenance.

It begins with the store and ends with it.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from ..core.runtime import Runtime
from ..core.upkeep import every_session, trim_slices
from ..db.engine import Database, Life
from ..errors import PalaverError, StoreFull
from . import jobs
from .liveness import Owner
from .maintenance import Worker
from .open_turns import OpenTurns
from .watcher import Watcher

if TYPE_CHECKING:
    from ..core.search.sums import Checks
    from ..streaming.save_policy import SavePolicy

_CLOSING = 0.1  # seconds that `end` trims for, and indexes


class Background:
    """`owner`, `turns`, `watcher`, `index` and `maintenance` are its parts; handles speak to them."""

    def __init__(
        self, db: Database, life: Life, policy: SavePolicy, *, trim_after: float, recover_every: float | None
    ) -> None:
        self.db = db
        self.trim_after = trim_after
        self.owner = Owner(life)
        self.runtime = Runtime(self.owner.is_dead)
        self.watcher = Watcher(db)
        self.index = jobs.Index(db)
        self._checks: Checks | None = None
        trim = jobs.Trim(trim_slices.Slices(db, trim_after), trim_after)
        self.turns = OpenTurns(self, policy, trim)
        recover = jobs.Recover(self.recover, recover_every, trim)
        renew, look, fill = jobs.Renew(self.owner), jobs.Look(self.turns), jobs.Fill(db)
        self.maintenance = Worker([self.turns.flush, renew, look, trim, fill, self.index, recover])

    # ------------------------------------------------------------ dead writers

    def recover_at_opening(self) -> None:
        """A full disk does not keep anybody from reading; the next turn in a session recovers what is left there."""
        try:
            self.recover()
        except StoreFull as error:
            self.maintenance.put_off(error)

    def recover(self) -> int:
        """Seal what dead writers left open, in every session; how many sessions had some."""
        found = every_session.recover(self.db, self.runtime)
        self.owner.forget_dead(self.db)
        return found

    # ------------------------------------------------------------ search

    def index_soon(self) -> None:
        """There may be something to index."""
        if self.index.later():
            self.maintenance.wake()

    @property
    def checks(self) -> Checks:
        """What searches looked at of the index since the store was opened, whoever searches."""
        from ..core.search.sums import Checks

        self._checks = self._checks or Checks()
        return self._checks

    # ------------------------------------------------------------ the end

    def end(self) -> None:
        """Whatever fails, everything is let go of, the engine too."""
        with ExitStack() as stack:  # what was put there last goes first
            stack.callback(self.watcher.wake_all)  # followers find it closed
            stack.callback(self.db.close)
            stack.callback(self.watcher.end)
            stack.callback(self.owner.leave, self.db)
            stack.callback(self._index_what_is_left)
            stack.callback(self._trim_what_is_left)
            stack.callback(self.turns.end)
            stack.callback(self.maintenance.end)

    def _trim_what_is_left(self) -> None:
        """For a moment; the rest is the next store's work."""
        if self.turns.have_been:
            trim_slices.trim(self.db, self.trim_after, _CLOSING)

    def _index_what_is_left(self) -> None:
        """For a moment; the rest is scanned by a search, or indexed by the next store."""
        try:
            if self.index.has_work:
                self.index.run_all(_CLOSING)
        except PalaverError as error:
            self.maintenance.put_off(error)
