"""Starting the processes that run points. Nothing here opens a store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..crash import killing
from ..tools.puppet import Crew
from .disk import Fault

PATIENCE = 3600.0  # every point of a workload is a thousand and more
Outcome = dict[str, Any]


def run(folder: Path, workload: str, faults: list[Fault], bug: str | None = None) -> list[Outcome]:
    """These faults, each in a store of its own."""
    return _ask(bug=bug, folder=str(folder), workload=workload, faults=[vars(fault) for fault in faults])


def run_some(folder: Path, workload: str, count: int | None, seed: int) -> list[Outcome]:
    """A healthy run, then so many faults; None: every one that there is."""
    if workload == "recovery":
        _leave_a_dead_turn(folder / "dead")
    return _ask(folder=str(folder), workload=workload, count=count, seed=seed)


def _leave_a_dead_turn(folder: Path) -> None:
    folder.mkdir()
    killing.run({"workload": "left_open", "path": str(folder / "s.db"), "acks": str(folder / "acks"), "seed": 1})


def _ask(**asked: Any) -> list[Outcome]:
    outcomes: list[Outcome] = Crew("tests.faults.points").alone("run", patience=PATIENCE, **asked)
    return outcomes


def new_seed() -> int:
    """The same each time, unless FAULTS_SEED says another: what runs at every change must not surprise."""
    seed = int(os.environ.get("FAULTS_SEED", "1"))
    print(f"FAULTS_SEED={seed}")
    return seed
