"""A cold start: a new interpreter imports the store, opens it and reads one session of 20 messages."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from .. import corpus
from ..columns import Column, Failed
from ..worker import module_of

if TYPE_CHECKING:
    from ..lab import Lab
    from ..worker import Worker


def run(lab: Lab) -> None:
    with lab.columns("ours", "raw_sqlite3", peers_that="cold") as columns:
        for column in columns:
            column("cold.fill")
        jobs = {c.name: lambda r, c=c: start(c) for c in columns}
        lab.interleave(jobs, repeats=2)  # warm the page cache and the bytecode
        found = lab.interleave(jobs, repeats=lab.scale.cold)
    lab.versus("normal.cold", found, "ms", "ours", "raw_sqlite3")
    lab.facts("peak memory of a cold start", "MB", found, "mb", ours="ours", raw="raw_sqlite3")


def start(column: Column) -> dict[str, float]:
    path = os.path.join(column.root, f"{column.name}-one.db")
    command = [sys.executable, "-m", "bench.cold", module_of(column.name), path]
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=with_bytecode())
    spent = time.perf_counter() - began
    if done.returncode or done.stdout.split()[:1] != ["20"]:
        raise Failed(done.stderr[-200:] or done.stdout)
    return {"ms": spent * 1e3, "mb": int(done.stdout.split()[-1]) / 1024}


def with_bytecode() -> dict[str, str]:
    """A start without cached bytecode compiles everything again, which no installed program does."""
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")}


def fill(worker: Worker) -> None:
    worker.store(session="cold").append_many("cold", corpus.chat(20))
    worker.close()
