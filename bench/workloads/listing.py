"""The newest 50 sessions of one agent, with title, preview and tokens; and `palaver ls` from start to finish."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from .. import measure
from .cold import with_bytecode

if TYPE_CHECKING:
    from ..lab import Lab
    from ..worker import Worker


def run(lab: Lab) -> None:
    with lab.columns("ours", "raw_sqlite3", peers_that="list") as columns:
        filled = {c.name: c("listing.fill", count=lab.scale.sessions) for c in columns}
        found = lab.blocks(columns, "listing.block")
        lab.versus("normal.list", found, "ms", "ours", "raw_sqlite3")
        lab.fact("make a session", "µs", ours=filled["ours"]["us"])
        lab.fact(f"`palaver ls` of {lab.scale.sessions:,} sessions, start to finish", "ms", **start_to_finish(columns))


def start_to_finish(columns: list) -> dict[str, float]:
    """Beside the least that a program on SQLite does: import the driver."""
    palaver = os.path.join(os.path.dirname(sys.executable), "palaver")
    path = next(column("listing.path")["path"] for column in columns if column.name == "ours")
    commands = {"ours": [palaver, "--store", path, "ls"], "raw": ["-c", "import apsw"]}
    spent: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(12):
        for name, arguments in commands.items():
            began = time.perf_counter()
            command = [sys.executable, *arguments]
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True, timeout=60, env=with_bytecode())
            spent[name].append((time.perf_counter() - began) * 1e3)
    return {name: sorted(times[2:])[len(times) // 2 - 1] for name, times in spent.items()}


def fill(worker: Worker, count: int) -> dict[str, float]:
    began = time.perf_counter()
    worker.store().fill_sessions(count)
    return {"us": (time.perf_counter() - began) / count * 1e6}


def path(worker: Worker) -> dict[str, str]:
    return {"path": worker.path("one")}


def block(worker: Worker, repeat: int) -> dict[str, float]:
    store = worker.store()
    found = measure.median(lambda: store.list_recent(50), most=100)
    if found["n"] != 50:
        raise RuntimeError(f"listed {found['n']} sessions")
    return found
