"""Whatever is done, in whatever order: the journal gives the tables, and gives them back when they are damaged."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from .walk import STEPS, check, end, life_of

SEED = int(os.environ.get("PALAVER_SEED", "20261116"))
WALKS, LENGTH = 12, 40


def walk(folder: Path, seed: int, length: int = LENGTH) -> list[str]:
    """What was done on one walk."""
    print(f"walk of seed {seed}")
    life = life_of(str(folder / f"{seed}.db"), seed)
    life.run(length, check, every=13)
    end(life)
    return life.done


def test_promise_148_after_every_few_steps_of_any_walk_the_journal_gives_the_tables(fast: Path) -> None:
    seen = Counter(step.partition(" ")[0] for number in range(WALKS) for step in walk(fast, SEED + number))
    assert {step.__name__ for step in STEPS} - seen.keys() == set(), "not everything was done"


@pytest.mark.long
@pytest.mark.parametrize("number", range(10))
def test_promise_148_also_on_two_hundred_long_walks(number: int, fast: Path) -> None:
    for each in range(20):
        walk(fast, SEED + 1000 + 20 * number + each, 200)
