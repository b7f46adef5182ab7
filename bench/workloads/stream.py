"""Chunks of a stream at several lengths of its text, as fast as they come; and a whole stream from begin to seal."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .. import measure

if TYPE_CHECKING:
    from ..columns import Column
    from ..lab import Block, Lab
    from ..worker import Worker

SIZES = (1_000, 10_000, 100_000, 1_000_000)
CHUNK = "twenty characters ok"


def run(lab: Lab) -> None:
    sides = {"ours": "ours", "raw": "raw_sqlite3"}
    with lab.columns("ours", "raw_sqlite3", peers_that="stream") as columns:
        found = lab.interleave({f"{c.name}@{size}": _burst(c, size, lab) for size in SIZES for c in columns})
    for size in SIZES:
        lab.versus(f"normal.chunk.{size}", found, "p50", "ours", "raw_sqlite3", tag=f"@{size}")
        label = f"written per chunk at {size // 1000:,} KB, in a burst"
        lab.facts(label, "kB", found, "bytes", by=1e-3, **{side: f"{name}@{size}" for side, name in sides.items()})
    for key, field in (("own.chunk.burst", "p50"), ("own.chunk.burst_mean", "mean")):
        lab.versus(key, found, field, "ours@1000000", "ours@1000")
    with lab.columns("ours", "raw_sqlite3", peers_that="stream") as columns:
        found = lab.blocks(columns, "stream.whole", repeats=3, count=lab.scale.stream)
    lab.versus("normal.stream", found, "mean", "ours", "raw_sqlite3")
    lab.facts(
        f"written in a stream of {lab.scale.stream:,} chunks, seal included", "kB", found, "bytes", by=1e-3, **sides
    )


def _burst(column: Column, size: int, lab: Lab) -> Block:
    count = lab.scale.burst if size < 1_000_000 else 100
    return lambda repeat: column("stream.burst", repeat=repeat, length=size, count=count)


def burst(worker: Worker, repeat: int, length: int, count: int) -> dict[str, float]:
    store = worker.store(f"at{length}", session="one")
    store.stream_open("one", text(length))
    before = measure.written()
    found = measure.each(store.stream_chunk, [CHUNK] * count)
    found["bytes"] = (measure.written() - before) / count
    store.stream_close()
    return found


def whole(worker: Worker, repeat: int, count: int) -> dict[str, float]:
    store = worker.store("whole", session="one")
    before, began = measure.written(), time.perf_counter()
    store.stream_open("one", "")
    for _ in range(count):
        store.stream_chunk(CHUNK)
    store.stream_close()
    return {"mean": (time.perf_counter() - began) / count * 1e6, "bytes": measure.written() - before}


def text(length: int) -> str:
    return ("word salad here " * (length // 16 + 1))[:length]
