"""Clocks and counters that every workload uses, inside the process of a column."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any


def each(call: Callable[[Any], Any], items: Iterable[Any]) -> dict[str, float]:
    """Microseconds per call: p50 is the typical call, mean is the wall and has every stall in it."""
    spent, clock = [], time.perf_counter_ns
    began = clock()
    for item in items:
        start = clock()
        call(item)
        spent.append(clock() - start)
    wall = clock() - began
    spent.sort()
    return {
        "p50": statistics.median(spent) / 1e3,
        "mean": wall / len(spent) / 1e3,
        "p99": spent[int(len(spent) * 0.99)] / 1e3,
        "max": spent[-1] / 1e3,
    }


def median(call: Callable[[], Any], budget: float = 0.25, most: int = 15) -> dict[str, float]:
    """Milliseconds of a call, the median of several; `n` is how much it gave back."""
    spent, end = [], time.perf_counter() + budget
    while not spent or (len(spent) < most and time.perf_counter() < end):
        start = time.perf_counter()
        n = len(call())
        spent.append(time.perf_counter() - start)
    return {"ms": statistics.median(spent) * 1e3, "n": n}


def written() -> int:
    """Bytes this process, all threads, handed to write calls so far."""
    with open("/proc/self/io") as file:
        return int(dict(line.split(": ") for line in file.read().splitlines())["wchar"])


def size(path: str) -> int:
    return sum(os.path.getsize(path + end) for end in ("", "-wal", "-journal") if os.path.exists(path + end))
