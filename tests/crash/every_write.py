"""One workload, run again and again, killed before its 1st, 2nd, 3rd … write: `python -m crash.every_write '{…}'`.

The interpreter loads everything once and forks for each run; no store is ever open in the process that forks. The
first run is only counted. Prints how many points were found, how many were tried, of what kinds, and where each
killed store is.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import traceback
from typing import Any

import palaver.store  # noqa: F401  all of it, once, before the forks

from . import vfs, workloads

HANGS = 60  # seconds


def run_killed(options: dict[str, Any], kill_at: int) -> bool:
    """In a child of its own: True if it was killed there, False if it came to its end."""
    child = os.fork()
    if child == 0:
        signal.alarm(HANGS)
        _run_to_the_end({**options, "kill_at": kill_at})
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, -signal.SIGKILL):
        raise SystemExit(f"run {kill_at} of {options['workload']} ended with {code}")
    return code != 0


def _run_to_the_end(options: dict[str, Any]) -> None:
    """The rest of a forked child: never back into the code of its parent."""
    try:
        workloads.run(options)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def count(options: dict[str, Any]) -> dict[str, int]:
    """How many writes of which kind a whole run makes."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(HANGS)
        counter = vfs.count_writes()
        workloads.run(options)
        os.write(writer, json.dumps(counter.kinds).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as answer:
        kinds: dict[str, int] = json.loads(answer.read())
    return kinds


def place(asked: dict[str, Any], name: str) -> dict[str, Any]:
    """The options of a run in a folder of its own: empty, or a copy of a store that was killed before."""
    folder = os.path.join(asked["folder"], name)
    if "start_from" in asked:
        shutil.copytree(asked["start_from"], folder)
    else:
        os.makedirs(folder)
    return {**asked["options"], "path": os.path.join(folder, "s.db"), "acks": os.path.join(folder, "acks")}


def main(asked: dict[str, Any]) -> dict[str, Any]:
    kinds = count(place(asked, "count"))
    cases: list[dict[str, Any]] = []
    while True:
        options = place(asked, str(len(cases) + 1))
        if not run_killed(options, len(cases) + 1):
            return {"found": sum(kinds.values()), "kinds": kinds, "cases": cases}
        cases.append(options)


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
