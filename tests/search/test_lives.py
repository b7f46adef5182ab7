"""Search finds what a plain reading of the store finds: in random lives, on both engines, whatever is indexed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import palaver

from ..postgres.engines import Engine, File, Postgres, same_world
from . import judging, lives
from .judging import Told

EVERY = 12  # steps between two judgements
QUERIES = 8  # of a judgement


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    lives.quiet(monkeypatch)


def live(engine: Engine, seed: int, steps: int, elsewhere: Callable[[], palaver.Store] | None = None) -> list[Told]:
    """What was found in a life; with `elsewhere` it closes its store now and then, and its export is asked, too."""
    told: list[Told] = []
    with same_world(seed) as world:
        life = lives.life_on(engine, seed, world, may_close=elsewhere is not None)
        try:
            life.run(steps, lambda life: told.extend(judging.judge(engine, life.store, life.dice, QUERIES)), EVERY)
            if elsewhere is not None:
                with lives.moved(life.store, elsewhere) as copy:
                    judging.judge(File(Path(copy.path)), copy, life.dice, QUERIES)
        finally:
            life.store.close()
    return told


def found_something(told: list[Told]) -> bool:
    """A comparison of nothing with nothing is worth nothing."""
    return sum(bool(each.hits) for each in told) > len(told) / 6


def test_search_finds_what_a_plain_reading_finds(tmp_path: Path) -> None:
    told = [
        each
        for seed in range(16)
        for each in live(
            File(tmp_path / f"{seed}.db"), seed, 90, lambda seed=seed: palaver.open(tmp_path / f"{seed} copy.db")
        )
    ]

    assert len(told) > 850 and found_something(told)


def test_both_engines_find_the_same(tmp_path: Path, ready_space: tuple[str, str]) -> None:
    """The same life in the same world, ids and all."""
    on_postgres = live(Postgres(*ready_space), 501, 96)
    on_file = live(File(tmp_path / "same.db"), 501, 96)

    assert on_postgres == on_file and found_something(on_file)


@pytest.mark.long
def test_search_finds_what_a_plain_reading_finds_in_many_lives(tmp_path: Path) -> None:
    first = int(os.environ.get("PALAVER_SEED") or time.time_ns() % 2**32)
    print(f"PALAVER_SEED={first}")
    for seed in range(first, first + 90):
        live(File(tmp_path / f"{seed}.db"), seed, 180)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(510, 522))
def test_both_engines_find_the_same_in_many_lives(tmp_path: Path, ready_space: tuple[str, str], seed: int) -> None:
    assert live(Postgres(*ready_space), seed, 180) == live(File(tmp_path / "same.db"), seed, 180)
