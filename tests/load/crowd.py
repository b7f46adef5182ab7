"""Many real processes on one file: started together, each with one job of `jobs.py` and one report at its end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE = 600.0

Report = dict[str, Any]


class Worker:
    """A process that does one job. It says `ready`, waits for a line, and prints its report when it is done."""

    def __init__(self, job: str, **options: Any) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.load.jobs", json.dumps({"job": job, **options})],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._alarm = threading.Timer(PATIENCE, self._process.kill)
        self._alarm.daemon = True
        self._alarm.start()

    def hear(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"a process ended early, with status {self._process.wait(PATIENCE)}"
        return line.rstrip("\n")

    def tell(self, line: str = "go") -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def report(self) -> Report:
        report: Report = json.loads(self.hear())
        return report

    def end(self) -> None:
        """Whatever it does, it is over afterwards."""
        self._alarm.cancel()
        if self._process.poll() is None:
            self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.wait(PATIENCE)


@contextmanager
def workers(jobs: Sequence[dict[str, Any]]) -> Iterator[list[Worker]]:
    """Processes that are all ready to begin."""
    crowd = [Worker(**job) for job in jobs]
    try:
        for worker in crowd:
            assert worker.hear() == "ready"
        yield crowd
    finally:
        for worker in crowd:
            worker.end()


def alone(job: str, **options: Any) -> Report:
    """One job in a process of its own, from beginning to end."""
    with workers([{"job": job, **options}]) as (worker,):
        worker.tell()
        return worker.report()


class Watch:
    """Looks at a number again and again while a block runs; keeps the greatest."""

    def __init__(self, look: Callable[[], int]) -> None:
        self._look = look
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.greatest = 0

    def _watch(self) -> None:
        while not self._over.wait(0.01):
            self.greatest = max(self.greatest, self._look())

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(PATIENCE)


def wal_size(path: str) -> int:
    """Without opening it: closing a file of the database would drop the locks of whoever has it open here."""
    try:
        return os.stat(path + "-wal").st_size
    except FileNotFoundError:
        return 0
