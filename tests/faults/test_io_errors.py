"""The n-th system call of SQLite fails: a write, a read, a sync, a truncation, an open; once, or until it is repaired.

The client is told so by a StoreError and asks again. In the end, on the same store, nothing that it was ever told is
lost and nothing is there twice: judged without Palaver by the rules and the history of the crash tests.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from . import running
from .running import Outcome

WORKLOADS = [
    "stream",
    "tools",
    "commits",
    "branches",
    "crowd",
    "approvals",
    "steps",
    "whole_turns",
    "journal",
    "first",
    "recovery",
]
POINTS = 30  # of each: 330
# SQLite itself takes a read that fails for damage, and a file that does not open for one it may only read.
HONEST = {
    "write": {"StoreFull", "StoreError"},
    "sync": {"StoreError"},
    "read": {"StoreError", "StoreCorrupt"},
    "truncate": {"StoreError", "StoreFull"},
    "open": {"StoreError", "StoreReadOnly"},
    "delete": {"StoreError"},
}


def wrong(outcomes: list[Outcome]) -> dict[str, list[str]]:
    return {outcome["name"]: outcome["problems"] for outcome in outcomes if outcome["problems"]}


def dishonest(outcomes: list[Outcome]) -> dict[str, list[str]]:
    """Errors whose name says something else than what happened."""
    return {o["name"]: o["errors"] for o in outcomes if not set(o["errors"]) <= HONEST[o["kind"]]}


def check(folder: Path, workload: str, count: int | None) -> None:
    healthy, *outcomes = running.run_some(folder, workload, count, running.new_seed())
    assert (healthy["errors"], healthy["problems"]) == ([], [])
    struck = [outcome for outcome in outcomes if outcome["fired"]]
    told = [outcome for outcome in struck if outcome["errors"]]
    print(f"{workload}: {len(outcomes)} faults, {len(struck)} struck, {len(told)} were told to the client")
    assert wrong(outcomes) == {}
    assert dishonest(outcomes) == {}
    assert len(struck) > 0.7 * len(outcomes) and len(told) > 0.4 * len(outcomes), (
        "too little happened to prove anything"
    )


@pytest.mark.parametrize("workload", WORKLOADS)
def test_after_an_io_error_the_same_store_goes_on_and_nothing_is_lost_or_doubled(workload: str, fast: Path) -> None:
    check(fast, workload, POINTS)


@pytest.mark.long
@pytest.mark.parametrize("workload", WORKLOADS)
def test_whichever_call_fails_the_same_store_goes_on_and_nothing_is_lost_or_doubled(workload: str, fast: Path) -> None:
    check(fast, workload, None)
