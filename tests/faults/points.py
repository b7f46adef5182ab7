"""Runs a workload over a failing disk, one store per fault: `python -m tests.faults.points`.

Told for each: how often the fault struck, the errors the client was told, what is wrong with the
store.
"""

from __future__ import annotations

import os
import shutil
import signal
import threading
import traceback
from pathlib import Path
from typing import Any

import apsw

import palaver
from palaver.db.sqlite import checkpoint

from ..crash import claims, rules
from ..crash.history import History
from ..crash.snapshot import Snapshot
from ..crash.workloads import write_the_same_pages
from ..tools.puppet import play
from .choice import choose
from .client import WORKLOADS, Client
from .disk import HEALTHY, Disk, Fault

SIZES: dict[str, dict[str, Any]] = {  # large enough to have checkpoints, small enough for hundreds of runs
    "stream": {"turns": 2, "chunks": 5, "save_buffer_ms": 1e9},
    "tools": {"turns": 1, "steps": 3, "pieces": 1, "chunks": 16, "save_buffer_ms": 0},
    "commits": {"turns": 5},
    "branches": {"chunks": 3},
    "crowd": {"turns": 3},
    "approvals": {"turns": 1, "chunks": 3},
    "steps": {"turns": 1, "chunks": 9, "save_on": "step", "save_buffer_size": 300},
    "whole_turns": {"turns": 2, "chunks": 5, "save_on": "turn", "save_buffer_ms": 1e9},
    "journal": {"turns": 1, "chunks": 5, "events": "full"},
    "first": {"chunks": 3},
    "recovery": {},
}
HANGS = 20  # seconds
START = {"recovery": "dead", "first": None}  # the others begin with an empty store


class Point:
    """One run of one workload with one fault, in a folder of its own."""

    def __init__(self, disk: Disk, folder: Path, workload: str, fault: Fault) -> None:
        self.disk, self.folder, self.workload, self.fault = disk, folder, workload, fault
        self.problems: list[str] = []
        self.errors: list[str] = []
        self.counts: dict[str, int] = {}
        self.options = {
            "workload": workload,
            "path": str(folder / "s.db"),
            "acks": str(folder / "acks"),
            "seed": 1,
            **SIZES[workload],
        }

    def run(self) -> dict[str, Any]:
        self.disk.arm(self.fault)
        signal.alarm(HANGS)
        try:
            self._work()
        except Exception as error:
            self.blame("the client met", error)
        signal.alarm(0)
        self.disk.heal()
        self._judge()
        return {
            "name": f"{self.workload} {self.fault.name}",
            "kind": self.fault.kind,
            "fired": self.disk.fired,
            "counts": self.counts,
            "errors": self.errors,
            "problems": self.problems,
        }

    def _work(self) -> None:
        client = Client(self.options, self.disk)
        try:
            WORKLOADS[self.workload](client)
        finally:
            self.errors = [type(trouble).__name__ for trouble in client.troubles]
            self.counts = dict(self.disk.counts)
        self.problems += [f"told: {trouble}" for trouble in client.troubles if self.disk.fired == 0]
        self.disk.heal()
        self._look_at_the_living(client)
        client.log.call("close", client.store.close)

    def _look_at_the_living(self, client: Client) -> None:
        """The store that met the fault, still open: no restart has helped it."""
        self.problems += [f"verify: {p.rule} {p.where}: {p.what}" for p in client.store.verify()]
        connection = apsw.Connection(self.options["path"], flags=apsw.SQLITE_OPEN_READONLY)
        found = [row[0] for row in connection.execute("PRAGMA integrity_check").fetchall()]
        connection.close()
        self.problems += [f"integrity_check: {line}" for line in found if line != "ok"]

    def _judge(self) -> None:
        """And closed, as another program finds it."""
        self.problems += [f"still open: {name}" for name in _open_files(self.folder)]
        left = Snapshot(self.options["path"])
        self.problems += rules.broken(left, settled=True)
        self.problems += claims.broken(left, History(self.options["acks"]), settled=True)

    def blame(self, what: str, error: BaseException) -> None:
        place = traceback.extract_tb(error.__traceback__)[-1]
        self.problems.append(f"{what} {type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})")


def _open_files(folder: Path) -> list[str]:
    """Descriptors of this process on files of a store, where the system tells (Linux)."""
    held = []
    for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd") else []:
        try:
            held.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:  # the one that listed them
            pass
    return [name for name in held if name.startswith(str(folder / "s.db"))]


def _hangs(*_: Any) -> None:
    raise TimeoutError(f"nothing happened for {HANGS} s")


class Runs:
    """The runs of one workload in this process."""

    def __init__(self, folder: Path, workload: str) -> None:
        self.disk, self.folder, self.workload = Disk(), folder, workload
        self.count = 0
        if workload not in START:
            palaver.open(folder / "made" / "s.db").close()

    def run(self, fault: Fault) -> dict[str, Any]:
        self.count += 1
        place = self.folder / str(self.count)
        start = START.get(self.workload, "made")
        place.mkdir() if start is None else shutil.copytree(self.folder / start, place)
        point = Point(self.disk, place, self.workload, fault)
        threading.excepthook = lambda given: point.blame("a thread met", given.exc_value)
        outcome = point.run()
        shutil.rmtree(place)
        return outcome


def run(folder: str, workload: str, faults: list[dict[str, Any]] | None = None, **some: Any) -> list[dict[str, Any]]:
    """These faults; or a healthy run, and then so many: all that `count` and `seed` choose."""
    signal.signal(signal.SIGALRM, _hangs)
    checkpoint.CHECKPOINT_PAGES = 40  # so that short runs have checkpoints, too
    write_the_same_pages()
    runs = Runs(Path(folder), workload)
    if faults is not None:
        return [runs.run(Fault(**fault)) for fault in faults]
    healthy = runs.run(HEALTHY)
    return [healthy, *map(runs.run, choose(healthy["counts"], **some))]


if __name__ == "__main__":
    play()
