"""Fsyncs and bytes per verb, counted under SQLite: figures without noise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

from ..columns import Failed

if TYPE_CHECKING:
    from ..lab import Lab

COLUMNS = {"ours": "ours", "raw": "raw_apsw", "boundary": "ours_boundary", "raw_full": "raw_apsw_full"}


def run(lab: Lab) -> None:
    found = {side: counted(name) for side, name in COLUMNS.items()}
    for verb in found["ours"]:
        counts = {side: verbs[verb] for side, verbs in found.items() if verb in verbs}
        if verb == "a turn as one commit":  # what it stands for are two raw appends
            counts |= {side: _twice(found[side]["append one message"]) for side in ("raw", "raw_full")}
        lab.fact(f"fsyncs, {verb}", "", **{side: one["syncs"] for side, one in counts.items()})
        lab.fact(f"into the WAL, {verb}", "kB", **{side: one["wal"] / 1e3 for side, one in counts.items()})
        lab.fact(f"into the file, {verb}", "kB", **{side: one["db"] / 1e3 for side, one in counts.items()})


def counted(name: str) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory(prefix="bench-") as root:
        command = [sys.executable, "-m", "bench.counting", name, os.path.join(root, "counted.db")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    if done.returncode:
        raise Failed(f"{name}: {done.stderr[-300:]}")
    return json.loads(done.stdout)


def _twice(one: dict[str, float]) -> dict[str, float]:
    return {kind: 2 * value for kind, value in one.items()}
