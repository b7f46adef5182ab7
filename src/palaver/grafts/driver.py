"""Bringing a source in, batch by batch: what is here already is left alone, what is new is written, what cannot be is
told. Between two transactions others write; killed anywhere, the same again goes on from there.

What belongs where is decided by the source: a parent is the turn of this run that ends with an item. Only a parent that
the source does not have at all is looked for in the store, when everything has come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..base import arguments
from ..core.runtime import Runtime
from ..db.engine import Database
from ..errors import BadValue, GraftRefused, PalaverError, SessionArchived, SessionDeleted, StoreError
from .source import Source
from .values import GraftedSession, GraftProblem, GraftProgress, GraftReport, GraftSession

Progress = Callable[[GraftProgress], None]


def bring_in(
    db: Database, runtime: Runtime, given: GraftSession | Iterable[GraftSession], progress: Progress | None
) -> GraftReport:
    sessions = [given] if isinstance(given, GraftSession) else arguments.several("sessions", given)
    run = Run(db, runtime, progress)
    for session in sessions:
        if not isinstance(session, GraftSession):
            raise BadValue(f"what is grafted is GraftSessions, not {type(session).__name__}")
        run.bring_in(session)
    report = GraftReport(run.sessions, run.problems)
    if report.problems:
        raise GraftRefused(report, len(report.problems), str(report.problems[0]))
    return report


class Run:
    """One call: what came of it so far."""

    def __init__(self, db: Database, runtime: Runtime, progress: Progress | None) -> None:
        self.db = db
        self.runtime = runtime
        self.sessions: list[GraftedSession] = []
        self.problems: list[GraftProblem] = []
        self._progress = progress
        self._turns = self._items = self._bytes = 0

    def bring_in(self, given: GraftSession) -> None:
        source = Source(self, given)
        try:
            source.bring_in()
        except (SessionArchived, SessionDeleted) as error:
            source.skipped = "archived" if isinstance(error, SessionArchived) else "deleted"
        except StoreError:
            raise
        except PalaverError as error:  # of the session itself
            source.refuse(None, error)
        self.sessions.append(source.outcome())

    def tell(self, turns: int, items: int, size: int) -> None:
        self._turns, self._items, self._bytes = self._turns + turns, self._items + items, self._bytes + size
        if self._progress is not None:
            self._progress(GraftProgress(len(self.sessions) + 1, self._turns, self._items, self._bytes))
