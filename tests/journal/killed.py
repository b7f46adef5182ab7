"""A talk killed before its 1st, 2nd … statement, in a store that keeps everything: `python -m tests.journal.killed`.

Every so many points, beginning with the first. Afterwards each store is opened again, all by one process, and what is
wrong is told. The interpreter loads everything once and forks for each run.
"""

from __future__ import annotations

import os
import shutil
from typing import Any

import palaver
from tests.migrations.runner import kill_before_statement
from tests.tools.eager import load_everything
from tests.tools.puppet import in_a_fork, play

from ..tools.chunks import answer
from ..tools.sql import query
from .support import ask_a_tool, full, replays, text

SIZE = 300
LONG = 600  # seconds for all stores together


def workload(path: str) -> None:
    with full(path) as store:
        session = store.sessions.create("coder")
        with session.turn("go") as turn:
            for chunk in answer(SIZE):
                turn.write(chunk)
            turn.usage(input=1, cost_usd=0.1)
        waits = ask_a_tool(session, SIZE)
        waits.resolve("w1", output="o" * SIZE)
        with session.resume(waits.id) as turn:
            turn.append(text("w" * SIZE))
        copy = session.fork(copy=True)
        copy.rewind(to=copy.path()[0])
        copy.commit("instead")
        session.delete()


def begin(path: str) -> None:
    """Outside the count: a store with its choice made."""
    full(path).close()


def run_killed(path: str, number: int) -> str:
    kill_before_statement(number)
    workload(path)
    return "done"


def told(path: str) -> list[str]:
    with palaver.open(path, recover_every=None) as store:
        begun = bool(query(path, "SELECT 1 FROM journal LIMIT 1"))
        return (replays(store) if begun else []) + [str(problem) for problem in store.verify()]


def killed(folder: str, every: int, first: int) -> dict[str, Any]:
    """How many points were tried, and what was wrong after which."""
    load_everything()
    begun, paths = os.path.join(folder, "begun.db"), dict[int, str]()
    in_a_fork(lambda: begin(begun))
    for number in range(first, 10**6, every):
        paths[number] = path = os.path.join(folder, str(number), "talks.db")
        os.makedirs(os.path.dirname(path))
        shutil.copy(begun, path)
        if in_a_fork(lambda path=path, number=number: run_killed(path, number)) == "done":
            problems = zip(paths, in_a_fork(lambda: [told(path) for path in paths.values()], LONG), strict=True)
            return {"tried": len(paths) - 1, "wrong": {number: found for number, found in problems if found}}
    raise AssertionError("it never came to its end")


if __name__ == "__main__":
    play()
