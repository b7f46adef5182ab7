"""Starting workers, killing them, asking the judge. Nothing here opens a store."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent.parent
PATIENCE = 60.0  # seconds after which something hangs


def start(module: str, *arguments: str, **given: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", f"crash.{module}", *arguments], cwd=TESTS, **given)


class Victim:
    """A worker process whose end is near."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._acks = options["acks"]
        self._before = _size(self._acks)
        self.process = start("workloads", json.dumps(options), stderr=subprocess.PIPE)

    def wait_for_acks(self, more: int = 1) -> None:
        """Until it has said something beyond what was there: `more` bytes of it."""
        deadline = time.monotonic() + PATIENCE
        while _size(self._acks) < self._before + more and self.process.poll() is None:
            assert time.monotonic() < deadline, "the worker says nothing"
            time.sleep(0.001)

    def kill(self) -> None:
        """Dead when this returns. A worker that ended by itself had an error of its own."""
        said = self.end()
        assert self.process.returncode == -signal.SIGKILL, said

    def end(self) -> str:
        """The same for one that may be done already."""
        self.process.kill()
        _, said = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode in (0, -signal.SIGKILL), said.decode()
        return said.decode()


def run(options: dict[str, Any]) -> None:
    """A worker that may live to its end."""
    done = start("workloads", json.dumps(options), stderr=subprocess.PIPE)
    _, said = done.communicate(timeout=PATIENCE)
    assert done.returncode == 0, said.decode()


def judge(cases: list[dict[str, Any]], bug: str | None = None) -> list[list[str]]:
    """What is wrong with each store, told by a fresh process."""
    asked = json.dumps({"cases": cases, "bug": bug}).encode()
    process = start("judge", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    answer, said = process.communicate(asked, timeout=PATIENCE * 10)
    assert process.returncode == 0, said.decode()
    problems: list[list[str]] = json.loads(answer)
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
