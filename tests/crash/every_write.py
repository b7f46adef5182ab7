"""One workload, run again and again, killed before its 1st, 2nd, 3rd … write: `python -m tests.crash.every_write`.

The interpreter loads everything once and forks for each run; no store is ever open in the process that forks. The
first run is only counted. Says how many points were found, how many were tried, of what kinds, and where each
killed store is.
"""

from __future__ import annotations

import os
import shutil
from typing import Any

from ..tools.eager import load_everything
from ..tools.puppet import in_a_fork, play
from . import vfs, workloads


def run_killed(options: dict[str, Any], kill_at: int) -> bool:
    """In a child of its own: True if it was killed there, False if it came to its end."""

    def run() -> str:
        workloads.run({**options, "kill_at": kill_at})
        return "done"

    return in_a_fork(run) is None


def count(options: dict[str, Any]) -> dict[str, int]:
    """How many writes of which kind a whole run makes."""

    def run() -> dict[str, int]:
        counter = vfs.count_writes()
        workloads.run(options)
        return counter.kinds

    kinds: dict[str, int] = in_a_fork(run)
    return kinds


def place(asked: dict[str, Any], name: str) -> dict[str, Any]:
    """The options of a run in a folder of its own: empty, or a copy of a store that was killed before."""
    folder = os.path.join(asked["folder"], name)
    if "start_from" in asked:
        shutil.copytree(asked["start_from"], folder)
    else:
        os.makedirs(folder)
    return {**asked["options"], "path": os.path.join(folder, "s.db"), "acks": os.path.join(folder, "acks")}


def killed_everywhere(**asked: Any) -> dict[str, Any]:
    load_everything()
    kinds = count(place(asked, "count"))
    cases: list[dict[str, Any]] = []
    while True:
        options = place(asked, str(len(cases) + 1))
        if not run_killed(options, len(cases) + 1):
            return {"found": sum(kinds.values()), "kinds": kinds, "cases": cases}
        cases.append(options)


if __name__ == "__main__":
    play()
