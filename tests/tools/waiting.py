"""Bounded waiting, and threads whose errors are seen."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

PATIENCE = 30.0  # seconds


def until(holds: Callable[[], Any], what: str = "it") -> None:
    """Look again and again; it must come true."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, f"it never happens: {what}"
        time.sleep(0.002)


def together(*jobs: Callable[[], Any]) -> list[Any]:
    """All at once, a thread each: what each returned, or what it raised."""
    results: list[Any] = [None] * len(jobs)
    gate = threading.Barrier(len(jobs))

    def run(place: int, job: Callable[[], Any]) -> None:
        gate.wait(PATIENCE)
        try:
            results[place] = job()
        except BaseException as error:
            results[place] = error

    threads = [threading.Thread(target=run, args=each, daemon=True) for each in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(4 * PATIENCE)
        assert not thread.is_alive(), "a thread hangs"
    return results


def in_threads(work: Callable[[Any], Any], given: Iterable[Any]) -> list[Any]:
    """The same work for each, all at once: what they returned. What one raised is raised here."""
    results = together(*(partial(work, one) for one in given))
    for found in results:
        if isinstance(found, BaseException):
            raise found
    return results
