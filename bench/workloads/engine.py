"""How much of an append, a turn and a chunk SQLite itself takes: the time inside its calls, held against the whole of
the raw column. Below this no code of ours can bring them, as long as they write these rows."""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING, Any

from .. import corpus
from .stream import CHUNK, text
from .turn import prepared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..lab import Lab
    from ..worker import Worker


def run(lab: Lab) -> None:
    appends, turns = lab.scale.appends, lab.scale.turns
    with lab.columns("ours", "raw_sqlite3") as (ours, raw):
        jobs = {
            "append": lambda r: ours("engine.append", repeat=r, count=appends),
            "raw append": lambda r: raw("append.block", repeat=r, count=appends),
            "turn": lambda r: ours("engine.turn", repeat=r, count=turns),
            "raw turn": lambda r: raw("turn.block", repeat=r, count=turns),
            "chunk": lambda r: ours("engine.chunk", repeat=r, count=lab.scale.burst),
            "raw chunk": lambda r: raw("stream.burst", repeat=r, length=1_000, count=lab.scale.burst),
        }
        found = lab.interleave(jobs)
    for what in ("append", "turn", "chunk"):
        lab.versus(f"normal.{what}.engine", found, "p50", what, f"raw {what}", peers=False)


def append(worker: Worker, repeat: int, count: int) -> dict[str, float]:
    store = worker.store("appends", session="one")
    return inside(store, lambda message: store.append("one", message), corpus.chat(count, seed=repeat))


def turn(worker: Worker, repeat: int, count: int) -> dict[str, float]:
    store = worker.store("turns", session="one")
    return inside(store, lambda one: store.turn("one", one), prepared(store, repeat, count))


def chunk(worker: Worker, repeat: int, count: int) -> dict[str, float]:
    store = worker.store("chunks", session="one")
    store.stream_open("one", text(1_000))
    found = inside(store, store.stream_chunk, [CHUNK] * count)
    store.stream_close()
    return found


def inside(store: Any, call: Callable[[Any], Any], items: Iterable[Any]) -> dict[str, float]:
    """Microseconds that a call spends in SQLite, the median."""
    db, spent = store.store.db, []
    db.cursor = watched = Watched(db.cursor)
    try:
        for item in items:
            watched.spent = 0
            call(item)
            spent.append(watched.spent)
    finally:
        db.cursor = watched.real
    return {"p50": median(spent) / 1e3}


class Watched:
    """A cursor that adds up how long it runs."""

    def __init__(self, real: Any) -> None:
        self.real, self.spent = real, 0

    def execute(self, *given: Any) -> Watched:
        began = time.perf_counter_ns()
        try:
            self.real.execute(*given)
        finally:
            self.spent += time.perf_counter_ns() - began
        return self

    def fetchall(self) -> list[Any]:
        began = time.perf_counter_ns()
        rows: list[Any] = self.real.fetchall()
        self.spent += time.perf_counter_ns() - began
        return rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)
