"""Real processes that do one job each: a module says `ready`, waits for a line, works, and prints its report.

`Crew("tests.load.jobs")` starts jobs of that module. No process outlives its block, whatever it does.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PATIENCE = 600.0
Report = dict[str, Any]


class Worker:
    """One job in a process of its own."""

    def __init__(self, module: str, job: str, **options: Any) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, json.dumps({"job": job, **options})],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._alarm = threading.Timer(PATIENCE, self._process.kill)
        self._alarm.daemon = True
        self._alarm.start()

    def hear(self) -> str:
        """Its next line; it must have one."""
        line = self._line()
        assert line, f"a process ended early, with status {self._process.wait(PATIENCE)}"
        return line.rstrip("\n")

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def tell(self, line: str = "go") -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def report(self) -> Any:
        return json.loads(self.hear())

    def report_unless_killed(self) -> Any:
        """What it found; None if it was killed before it had said it. It may also be killed right after that."""
        line = self._line()
        status = self._process.wait(PATIENCE)
        assert status in ((0, -9) if line.endswith("\n") else (-9,)), status
        return json.loads(line) if line.endswith("\n") else None

    def is_over(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE)

    def end(self) -> None:
        """Whatever it does, it is over afterwards."""
        self._alarm.cancel()
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):  # it did not want to hear our last word
                pipe.close()


class Crew:
    """Workers whose jobs are those of one module."""

    def __init__(self, module: str) -> None:
        self._module = module

    def start(self, **job: Any) -> Worker:
        return Worker(self._module, **job)

    @contextmanager
    def ready(self, jobs: Sequence[dict[str, Any]]) -> Iterator[list[Worker]]:
        """Processes that are all ready to begin; none outlives the block."""
        started = [self.start(**job) for job in jobs]
        try:
            for worker in started:
                assert worker.hear() == "ready"
            yield started
        finally:
            for worker in started:
                worker.end()

    def together(self, jobs: Sequence[dict[str, Any]], *, some_are_killed: bool = False) -> list[Any]:
        """Start all at once; what each of them found."""
        with self.ready(jobs) as started:
            for worker in started:
                worker.tell()
            return [worker.report_unless_killed() if some_are_killed else worker.report() for worker in started]

    def alone(self, job: str, **options: Any) -> Report:
        """One job, from beginning to end."""
        with self.ready([{"job": job, **options}]) as (worker,):
            worker.tell()
            report: Report = worker.report()
            return report
