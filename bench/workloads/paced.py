"""A stream as a model sends it, 60 chunks a second, on a turned clock: nothing waits, only the writes are timed.

Parts are rewritten for other programs as time passes, so here the length of the text shows; a burst hides it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .. import measure
from .stream import CHUNK, text

if TYPE_CHECKING:
    from ..lab import Lab
    from ..worker import Worker


def run(lab: Lab) -> None:
    with lab.columns("ours") as (ours,):
        jobs = {
            str(size): lambda r, size=size: ours("paced.block", repeat=r, length=size, count=lab.scale.paced)
            for size in (1_000, 1_000_000)
        }
        found = lab.interleave(jobs)
    lab.versus("own.paced.time", found, "mean", "1000000", "1000")
    lab.versus("own.paced.bytes", found, "kb", "1000000", "1000")


def block(worker: Worker, repeat: int, length: int, count: int) -> dict[str, float]:
    store = worker.store(f"paced{length}", session="one")
    with paced() as clock:
        store.stream_open("one", text(length))
        before, asked = measure.written(), clock.asked

        def write(delta: str) -> None:
            clock.now += 1 / 60
            store.stream_chunk(delta)

        found = measure.each(write, [CHUNK] * count)
        found["kb"] = (measure.written() - before) / count / 1e3
        if clock.asked - asked < count:
            raise RuntimeError("the store does not look at palaver.base.clock for every chunk; the pace was not seen")
    store.stream_close()
    return found


class PacedClock:
    """Stands where the store's clock asks for the time; between two chunks 1/60 of a second passes."""

    def __init__(self) -> None:
        self.now, self.asked = 1e6, 0
        self.time_ns = time.time_ns

    def monotonic(self) -> float:
        self.asked += 1
        return self.now


@contextmanager
def paced() -> Iterator[PacedClock]:
    from palaver.base import clock

    real, turned = clock.time, PacedClock()
    clock.time = turned  # type: ignore[assignment]
    try:
        yield turned
    finally:
        clock.time = real
