"""`kill -9` at random moments. Whatever was acknowledged is there afterwards, and the store is whole.

A store lives through all rounds of its test, so that what one recovery left is what the next one finds.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from .history import History
from .killing import Victim, judge, new_seed, pause

WORKLOADS = ["stream", "tools", "tree", "waiting", "spawn"]
ROUNDS, MANY = 3, 300
ENOUGH = 30_000  # bytes of history: some turns of any workload


def options(folder: Path, workload: str, seed: int) -> dict[str, Any]:
    return {"workload": workload, "path": str(folder / "s.db"), "acks": str(folder / "acks"), "seed": seed}


def run_and_kill(given: dict[str, Any], rnd: random.Random, *, processes: int, least: int) -> None:
    """Each process lives a random time after it said so much; of several, the last one alone."""
    victims = [Victim({**given, "seed": f"{given['seed']}.{n}"}) for n in range(processes)]
    for victim in victims:
        victim.wait_for_acks(more=least)
        pause(rnd, 0.1)
        victim.kill()


def acknowledged(given: dict[str, Any]) -> int:
    return len([call for call in History(given["acks"]).calls if call.ok is not None])


def survive(folder: Path, workload: str, rounds: int, *, processes: int = 1) -> None:
    seed = new_seed()
    rnd = random.Random(f"{workload}/{seed}")
    for number in range(rounds):
        given = options(folder, workload, seed * 1000 + number)
        least = ENOUGH if number == 0 else rnd.choice((1, 400, 4000))
        run_and_kill(given, rnd, processes=processes, least=least)
        assert judge([given]) == [[]], f"round {number} of {workload}, CRASH_SEED={seed}"
    assert acknowledged(given) > 50, "too little happened to prove anything"


@pytest.mark.parametrize("workload", ["stream", "tools", "waiting"])
def test_nothing_acknowledged_is_lost_when_the_process_is_killed(workload: str, tmp_path: Path) -> None:
    survive(tmp_path, workload, ROUNDS)


def test_racing_processes_killed_one_after_the_other_leave_one_true_history(tmp_path: Path) -> None:
    survive(tmp_path, "race", ROUNDS, processes=2)
    calls = History(str(tmp_path / "acks")).calls
    assert any(call.no == "HeadConflict" for call in calls), "nobody raced"


def kill_while_opening(folder: Path, seed: int, rnd: random.Random) -> dict[str, Any]:
    folder.mkdir()
    given = options(folder, "first", seed)
    victim = Victim(given)
    victim.wait_for_acks()  # it says that it is about to open the file
    pause(rnd, rnd.choice((0, 0.005, 0.03)))
    victim.end()
    return given


def survive_first_opens(folder: Path, rounds: int) -> None:
    """So many kills, and more until one came before the open was done."""
    seed = new_seed()
    rnd = random.Random(seed)
    killed: list[dict[str, Any]] = []
    early = 0
    while len(killed) < rounds or not early:
        assert len(killed) < rounds + 100, "every process came past its first open"
        killed.append(kill_while_opening(folder / str(len(killed)), seed + len(killed), rnd))
        early += not History(killed[-1]["acks"]).acknowledged("open")
    assert judge(killed) == [[]] * len(killed), f"CRASH_SEED={seed}"


def test_a_process_killed_while_it_makes_the_file_leaves_one_that_opens(tmp_path: Path) -> None:
    survive_first_opens(tmp_path, 4 * ROUNDS)


@pytest.mark.long
@pytest.mark.parametrize("workload", WORKLOADS)
def test_nothing_is_lost_in_hundreds_of_kills(workload: str, tmp_path: Path) -> None:
    for store in range(MANY // 20):
        folder = tmp_path / str(store)
        folder.mkdir()
        survive(folder, workload, 20)


@pytest.mark.long
def test_hundreds_of_killed_racers_leave_one_true_history(tmp_path: Path) -> None:
    for store in range(MANY // 20):
        folder = tmp_path / str(store)
        folder.mkdir()
        survive(folder, "race", 20, processes=2)


@pytest.mark.long
def test_hundreds_of_killed_first_opens_leave_files_that_open(tmp_path: Path) -> None:
    survive_first_opens(tmp_path, MANY)
