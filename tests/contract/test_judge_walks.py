"""Random walks over everything a session can do, with the judge looking after every single step.

A walk is a seed; a failing one tells it and the steps so far. Besides our own verbs it lets another program write
loose rows, closes and reopens the store, and keeps several turns open at once.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import palaver

from ..tools.driver import Life
from .support import assert_agrees


def take_a_walk(path: str, seed: int, steps: int) -> None:
    life = Life(lambda dice: palaver.open(path, save_buffer_ms=0, durability="normal"), seed)
    try:
        life.run(steps, lambda life: assert_agrees(life.store) and None)
    finally:
        life.store.close()


@pytest.mark.parametrize("seed", range(12))
def test_the_judge_agrees_after_every_step_of_a_walk(tmp_path: Path, seed: int) -> None:
    take_a_walk(str(tmp_path / "walk.db"), seed, steps=40)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 400))
def test_the_judge_agrees_after_every_step_of_many_long_walks(tmp_path: Path, seed: int) -> None:
    take_a_walk(str(tmp_path / "walk.db"), seed, steps=120)
