"""What maintenance does for the search index while there is nothing to index: it looks for rows of other programs where
nobody has yet; on SQLite it merges what many small batches left, and compares the index with its checksums, a little at
a time."""

from __future__ import annotations

from ...base.clock import monotonic
from ...db.engine import Database
from ...db.queries import Q
from ...errors import IndexDamaged
from ..search import engines, records, sums
from ..search.tail import state
from . import indexing

_BYTES = 1 << 20  # that are compared at once,
_EVERY = 600.0  # and seconds between the beginnings of two rounds
_FEWEST = 16  # pages of words that are worth a merge,
_SHARE = 4  # if they are such a part of the largest segment: so each page is written a few times at most


class Tending:
    """Of one store."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._is_merging = self._has_looked = False
        self._after: str | None = None  # the last piece that was compared; None: a round is over
        self._begun_at: float | None = None

    def step(self) -> bool:
        """Do a little; whether there is more to do now."""
        with self._db.read() as tx:
            has_looked = state(tx).looked is not None
        if not has_looked and not self._has_looked:
            self._has_looked = True
            indexing.look(self._db)
        return self._tend_words()

    def _tend_words(self) -> bool:
        with self._db.read() as tx:
            if tx.words != "fts5" or engines.damage_at_a_glance(tx) is not None:
                return False
            are_many = self._is_merging or are_many_segments([row.pages for row in records.words_segments.all(tx)])
        return self._merge() if are_many else self._compare()

    def _merge(self) -> bool:
        self._is_merging = indexing.merge_step(self._db, begins=not self._is_merging)
        return True

    def _compare(self) -> bool:
        if self._after is None:
            if self._begun_at is not None and monotonic() - self._begun_at < _EVERY:
                return False
            self._after, self._begun_at = "", monotonic()
        try:
            with self._db.read() as tx:
                self._after = sums.refuse_any_other(tx, self._after, _BYTES)
        except IndexDamaged as error:
            tell(self._db, error.why)
            raise
        return self._after is not None


def are_many_segments(pages: list[int]) -> bool:
    small = sum(pages) - max(pages, default=0)
    return len(pages) > 1 and small >= _FEWEST and small * _SHARE >= max(pages)


def tell(db: Database, why: str) -> None:
    """From now on every search says it, until the index is made again."""
    with db.write() as tx:
        tx.run(Q.tell_damaged, why=why)
