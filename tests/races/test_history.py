"""Many race for one head, with whole turns and streamed ones, while some are killed and another program writes.

Everybody who won stands right after what it had read."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest

from ..tools import planting
from ..tools.puppet import LONG, Crew
from .history import History
from .places import open_store

pytestmark = pytest.mark.on_disk  # commits that wait for a disk leave gaps for others, as they do for a user

CREW = Crew("tests.races.child", LONG)
RACERS = 5


def run(url: str, folder: Path, wanted: int) -> tuple[History, list[str]]:
    """Until so many were told that they won, a tenth as many rows of another program came, and some racers were killed.
    The history, and what is wrong with it."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance, over = random.Random(seed), folder / "over"
    with open_store(url) as store:
        session = store.sessions.create("race")

        def job(name: str, kind: str = "race") -> dict[str, Any]:
            notes = str(folder / f"notes-{name}")
            return {"job": kind, "me": name, "notes": notes, "url": url, "session": session.id, "over": str(over)}

        with CREW.ready([job("stranger", "intrude"), *(job(f"r{number}") for number in range(RACERS))]) as working:
            for worker in working:
                worker.tell()
            while not is_enough(History(folder), wanted, kills=len(working) - 1 - RACERS):
                time.sleep(chance.uniform(0.05, 0.4))
                living = [worker for worker in working if not worker.is_over()]
                assert living[0] is working[0] and len(living) == 1 + RACERS, "somebody ended who was not killed"
                chance.choice(living[1:]).kill()
                working.append(CREW.start(**job(f"r{len(working)}")))
                assert working[-1].hear() == "ready"
                working[-1].tell()
            over.touch()
            for worker in working:
                worker.report_unless_killed()
        history = History(folder)
        found = list(history.problems(session))
        found += [str(problem) for problem in store.verify() if not (problem.rule == "time" and "://" in url)]
    print(f"outcomes: {dict(history.outcomes)}, rows of another program: {len(history.foreign)}")
    return history, found


def is_enough(history: History, wanted: int, kills: int) -> bool:
    losses = history.outcomes["lost"] >= wanted / 10 and history.outcomes[None] > 0
    return history.outcomes["won"] >= wanted and losses and len(history.foreign) >= wanted / 10 and kills >= 4


def test_everybody_who_won_stands_right_after_what_it_had_read(url: str, tmp_path: Path) -> None:
    _, found = run(url, tmp_path, 20)
    assert found[:5] == []


@pytest.mark.long
def test_everybody_who_won_stands_right_after_what_it_had_read_at_length(url: str, tmp_path: Path) -> None:
    _, found = run(url, tmp_path, 3_000)
    assert found[:5] == []


def test_a_store_that_merges_is_caught(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(planting.VARIABLE, "expected_is_compared_before_the_dead_are_seen_to")
    for attempt in range(5):  # a matter of luck: somebody must die, or another program write, at the right moment
        folder = tmp_path / str(attempt)
        folder.mkdir()
        _, found = run(path, folder, 100)
        if any("won on" in problem for problem in found):
            return
    pytest.fail("five races were merged, and nobody saw it")
