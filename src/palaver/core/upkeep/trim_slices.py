"""Trimming a whole store, slice by slice: each slice is a short transaction, and between two of them others write."""

from __future__ import annotations

from ...base.clock import monotonic, now_ms
from ...db.engine import Database
from . import trimming


def trim(db: Database, older_than: float, seconds: float | None = None) -> int:
    """Until nothing is due that was sealed `older_than` seconds ago, or so long; how many chunks went."""
    began, before, gone = monotonic(), _before(older_than), 0
    while True:
        with db.read() as tx:
            found = trimming.due(tx, before)
        if not found:
            return gone
        while found:
            if seconds is not None and monotonic() - began >= seconds:
                return gone
            with db.write() as tx:
                gone += trimming.trim_some(tx, found)


class Slices:
    """A trim that goes on where its last slice ended."""

    def __init__(self, db: Database, older_than: float) -> None:
        self._db = db
        self._older_than = older_than
        self._found: list[trimming.Due] = []

    def trim_one(self) -> bool:
        """One short transaction of trimming; False: nothing is due any more."""
        found, self._found = self._found, []  # if it fails, it is looked for again
        if not found:
            with self._db.read() as tx:
                found = trimming.due(tx, _before(self._older_than))
        if not found:
            return False
        with self._db.write() as tx:
            trimming.trim_some(tx, found)
        self._found = found
        return True

    def are_any_left(self) -> bool:
        """Whether a sealed turn has its chunks still, however young."""
        with self._db.read() as tx:
            return bool(trimming.due(tx, now_ms(), limit=1))


def _before(older_than: float) -> int:
    return now_ms() - round(older_than * 1000)
