"""Killed right before every single write, sync, truncation and deletion of a run: no point is left to chance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import palaver

from ..tools.puppet import Crew
from .history import History
from .killing import judge, run

DETERMINED = {"seed": 1, "repeatable": True, "trim_after": 3600, "save_buffer_ms": 1e9, "checkpoint_pages": 40}


def killed_everywhere(folder: Path, workload: str, start_from: Path | None = None, **more: Any) -> list[dict[str, Any]]:
    """One killed store for each point of the run."""
    asked = {"folder": str(folder / "runs"), "options": {"workload": workload, **DETERMINED, **more}}
    if start_from is not None:
        asked["start_from"] = str(start_from)
    done = Crew("tests.crash.every_write").alone("killed_everywhere", patience=3600.0, **asked)
    cases: list[dict[str, Any]] = done["cases"]
    print(f"{workload}: {done['found']} points found {done['kinds']}, {len(cases)} tried")
    assert done["found"] == len(cases) > 0
    return cases


def wrong(cases: list[dict[str, Any]]) -> dict[int, list[str]]:
    """What the judge found, by point; judged a few hundred at a time."""
    batches = [cases[at : at + 250] for at in range(0, len(cases), 250)]
    judged = [found for batch in batches for found in judge(batch)]
    return {point: found for point, found in enumerate(judged, 1) if found}


def test_killed_before_every_write_of_a_short_life_nothing_is_lost(tmp_path: Path) -> None:
    """In a store that is there: killed while it is made is `first`, at length, and migrations/test_interrupted."""
    empty = tmp_path / "empty"
    empty.mkdir()
    palaver.open(empty / "s.db").close()
    cases = killed_everywhere(tmp_path, "short", empty)
    assert wrong(cases) == {}
    assert History(cases[0]["acks"]).acknowledged("seal") == []
    assert len(History(cases[-1]["acks"]).acknowledged("seal")) == 1


def test_killed_before_every_write_of_a_recovery_the_next_one_completes_it(tmp_path: Path) -> None:
    dead = tmp_path / "dead"
    dead.mkdir()
    run({"workload": "left_open", **DETERMINED, "path": str(dead / "s.db"), "acks": str(dead / "acks")})
    assert wrong(killed_everywhere(tmp_path, "just_open", dead)) == {}


LONG = [(workload, "boundary") for workload in ("stream", "tools", "tree", "waiting", "spawn", "first")]


@pytest.mark.long
@pytest.mark.parametrize(("workload", "durability"), [*LONG, ("stream", "full"), ("stream", "normal")])
def test_killed_before_every_write_of_every_workload_nothing_is_lost(
    workload: str, durability: str, tmp_path: Path
) -> None:
    more = {"turns": 4, "chunks": 12, "durability": durability, "checkpoint_pages": 20}
    assert wrong(killed_everywhere(tmp_path, workload, **more)) == {}
