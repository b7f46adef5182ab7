"""Palaver at durability="normal" whose indexing job never runs: search knows what a workload indexes itself."""

from __future__ import annotations

from palaver.background import jobs

from .ours import Store as _Ours


class Unindexed(_Ours):
    def __init__(self, path: str) -> None:
        jobs.Index.due = lambda self, now: None  # type: ignore[method-assign]
        super().__init__(path)

    def close(self) -> None:
        self.store._background.index.has_work = False  # closing indexes, too
        super().close()


class Store(Unindexed):
    pass
