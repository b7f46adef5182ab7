"""32 streams of one process at once, tasks of one event loop or threads. Raw commits each chunk alone, with an fsync.
`boundary` needs none for a chunk (only for what ends a step or a turn); at `full` the streams share theirs."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from .stream import CHUNK

if TYPE_CHECKING:
    from ..lab import Lab
    from ..worker import Worker

STREAMS = 32


def run(lab: Lab) -> None:
    with lab.columns("ours_boundary", "ours_full", "raw_full", "raw_full_threads") as columns:
        found = lab.blocks(columns, "streams.block", lab.scale.storms, count=lab.scale.streams)
    lab.versus("boundary.streams", found, "tasks", "ours_boundary", "raw_full")
    lab.versus("boundary.streams.full", found, "tasks", "ours_full", "raw_full")
    lab.versus("boundary.streams.in_threads", found, "rate", "ours_boundary", "raw_full")
    lab.versus("boundary.streams.threads", found, "rate", "ours_full", "raw_full_threads")


def block(worker: Worker, repeat: int, count: int) -> dict[str, float]:
    """`rate`: in threads, or one after the other; `tasks`: in an event loop, where a column has that."""
    fresh = "one" not in worker.stores
    store = worker.store()
    if fresh:
        store.streams_open(STREAMS)
    rate = STREAMS * count / (in_threads if store.threads else one_by_one)(store, count)
    if not hasattr(store, "in_tasks"):
        return {"rate": rate, "tasks": rate}
    return {"rate": rate, "tasks": STREAMS * count / store.in_tasks(STREAMS, count, CHUNK)}


def one_by_one(store, count: int) -> float:
    began = time.perf_counter()
    for _ in range(count):
        for which in range(STREAMS):
            store.stream_to(which, CHUNK)
    return time.perf_counter() - began


def in_threads(store, count: int) -> float:
    together, failed = threading.Barrier(STREAMS + 1), list[BaseException]()

    def stream(which: int) -> None:
        together.wait()
        try:
            for _ in range(count):
                store.stream_to(which, CHUNK)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=stream, args=(which,)) for which in range(STREAMS)]
    for thread in threads:
        thread.start()
    together.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    if failed:
        raise failed[0]
    return seconds
