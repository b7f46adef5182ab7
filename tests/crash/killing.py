"""Starting workers, killing them, asking the judge. Nothing here opens a store."""

from __future__ import annotations

import os
import random
import signal
import time
from typing import Any

from ..tools.puppet import LONG, Crew

WORKLOADS, JUDGE = Crew("tests.crash.workloads", LONG), Crew("tests.crash.judge")
PATIENCE = 60.0  # seconds after which something hangs


class Victim:
    """A worker process whose end is near."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._acks = options["acks"]
        self._before = _size(self._acks)
        self.process = WORKLOADS.start("run", options=options)

    def wait_for_acks(self, more: int = 1) -> None:
        """Until it has said something beyond what was there: `more` bytes of it."""
        deadline = time.monotonic() + PATIENCE
        while _size(self._acks) < self._before + more and not self.process.is_over():
            assert time.monotonic() < deadline, "the worker says nothing"
            time.sleep(0.001)

    def kill(self) -> None:
        """Dead when this returns. A worker that ended by itself had an error of its own."""
        self.end()
        assert self.process.status == -signal.SIGKILL

    def end(self) -> None:
        """The same for one that may be done already."""
        self.process.end()
        assert self.process.status in (0, -signal.SIGKILL)


def run(options: dict[str, Any], bug: str | None = None) -> None:
    """A worker that may live to its end."""
    with WORKLOADS.start("run", options=options, bug=bug) as worker:
        worker.finish()


def judge(cases: list[dict[str, Any]], bug: str | None = None) -> list[list[str]]:
    """What is wrong with each store, told by a fresh process."""
    problems: list[list[str]] = JUDGE.alone("judge", cases=cases, name=bug)
    return problems


def pause(rnd: random.Random, most: float) -> None:
    """A random moment of a running process: what the kill is aimed at."""
    time.sleep(rnd.random() * most)


def new_seed() -> int:
    """Another one each time; CRASH_SEED repeats a run."""
    seed = int(os.environ.get("CRASH_SEED") or random.SystemRandom().randrange(10**6))
    print(f"CRASH_SEED={seed}")
    return seed


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.exists(path) else 0
