"""Eight processes append to one file at once, each to a session of its own: throughput, the worst wait, no loss."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from ..columns import Column, Failed
from .append import LEVELS

if TYPE_CHECKING:
    from ..lab import Lab, Results
    from ..worker import Worker

PROCESSES = 8


def run(lab: Lab) -> None:
    for group, (ours, raw) in LEVELS.items():
        with lab.columns(ours, raw, peers_that="storm" if group == "normal" else None) as columns:
            for column in columns:
                column("storm.fill")
            count = lab.scale.storm if group == "normal" else lab.scale.storm // 2
            found = lab.interleave({c.name: lambda r, c=c: storm(lab, c, r, count) for c in columns}, lab.scale.storms)
            for column in columns:
                refuse_loss(column, found)
        lab.versus(f"{group}.storm.rate", found, "rate", ours, raw)
        lab.worst(f"{group}.storm.worst", found, "max", ours, raw)
        sides = {"normal": ("ours", "raw"), "boundary": ("boundary", "raw_full")}[group]
        p99 = dict(zip(sides, (ours, raw), strict=True))
        lab.facts(f"8 processes, p99 of a wait, {group}", "ms", found, "p99", **p99)


def storm(lab: Lab, column: Column, repeat: int, count: int) -> dict[str, Any]:
    mode = "equal" if column.name in lab.peers and not lab.as_shipped else "own"
    path = os.path.join(column.root, f"{column.name}-one.db")
    given = [column.name, path, str(PROCESSES), str(count), str(repeat), mode]
    done = subprocess.run([sys.executable, "-m", "bench.storm", *given], capture_output=True, text=True, timeout=240)
    if done.returncode:
        raise Failed(done.stderr[-200:])
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise Failed(answer["error"])
    return answer


def refuse_loss(column: Column, found: Results) -> None:
    """What was acknowledged is there, and nothing else; a raw or a peer's error is shown, ours is a failure."""
    given = found.given.get(column.name, [])
    acked = sum(one["acked"] for one in given)
    if column.name not in found.errors and (there := column("storm.count")["n"]) != acked:
        found.errors[column.name] = f"{acked} were acknowledged, {there} are there"
    failed = next((one["errors"][0] for one in given if one["failed"]), None)
    if failed and column.name.startswith("ours"):
        found.errors[column.name] = failed


def fill(worker: Worker) -> None:
    store = worker.store()
    for which in range(PROCESSES):
        store.new_session(f"p{which}")
    worker.close()


def count(worker: Worker) -> dict[str, int]:
    store = worker.store()
    found = sum(len(store.load(f"p{which}")) for which in range(PROCESSES))
    worker.close()
    return {"n": found}
