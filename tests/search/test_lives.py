"""Search finds what a plain reading of the store finds: in random lives, on both engines, whatever is indexed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

import palaver

from ..postgres.engines import Engine, File, Postgres, same_world
from ..tools.driver import Life
from . import judging, lives
from .judging import Told

EVERY = 12  # steps between two judgements
QUERIES = 9  # of a judgement


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    lives.quiet(monkeypatch)


def live(engine: Engine, seed: int, steps: int, elsewhere: Callable[[], palaver.Store] | None = None) -> list[Told]:
    """What was found in a life; with `elsewhere` it closes its store now and then, and its export is asked, too."""
    told: list[Told] = []
    with same_world(seed) as world:
        life = lives.life_on(engine, seed, world, may_close=elsewhere is not None)

        def judge(life: Life) -> None:
            told.extend(judging.judge(engine, life.store, Random(f"{seed} {len(life.done)}"), QUERIES))

        try:
            life.run(steps, judge, EVERY)
            if elsewhere is not None:
                with lives.moved(life.store, elsewhere) as copy:
                    told.extend(judging.judge(File(Path(copy.path)), copy, life.dice, QUERIES))
        finally:
            life.store.close()
    return told


def found_something(told: list[Told]) -> bool:
    """A comparison of nothing with nothing is worth nothing."""
    return sum(bool(each.hits) for each in told) > len(told) / 2


def test_search_finds_what_a_plain_reading_finds(tmp_path: Path) -> None:
    told = [
        each
        for seed in range(14)
        for each in live(
            File(tmp_path / f"{seed}.db"), seed, 90, lambda seed=seed: palaver.open(tmp_path / f"{seed} copy.db")
        )
    ]

    assert len(told) >= 1_000 and found_something(told)


def test_both_engines_find_the_same(tmp_path: Path, ready_space: tuple[str, str]) -> None:
    """The same life in the same world, ids and all."""
    assert_the_same(live(Postgres(*ready_space), 505, 84), live(File(tmp_path / "same.db"), 505, 84))


def assert_the_same(one: list[Told], other: list[Told]) -> None:
    """Of what was asked of both in the same state: histories may part where two rows have the same time."""
    both = [pair for pair in zip(one, other, strict=True) if pair[0].is_same_question(pair[1])]
    assert [pair for pair in both if pair[0] != pair[1]] == []
    assert len(both) > len(one) / 4 and found_something(one)


@pytest.mark.long
def test_search_finds_what_a_plain_reading_finds_in_many_lives(tmp_path: Path) -> None:
    first = int(os.environ.get("PALAVER_SEED") or time.time_ns() % 2**32)
    print(f"PALAVER_SEED={first}")
    for seed in range(first, first + 90):
        live(File(tmp_path / f"{seed}.db"), seed, 180)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(510, 522))
def test_both_engines_find_the_same_in_many_lives(tmp_path: Path, ready_space: tuple[str, str], seed: int) -> None:
    assert_the_same(live(Postgres(*ready_space), seed, 180), live(File(tmp_path / "same.db"), seed, 180))


def test_long_documents_are_found_to_their_end(any_store: palaver.Store) -> None:
    """One of a megabyte, one of 90,000 different words; before they are indexed, and then."""
    session = any_store.sessions.create()
    session.commit("fox " * 250_000 + "zebra")
    session.commit(" ".join(f"word{number}" for number in range(90_000)) + " zebra")

    assert len(any_store.search("zebra").hits) == 2
    any_store.reindex()
    for typed, count in {"fox zebra": 1, '"word89999 zebra"': 1, "word45* word0 -fox": 1}.items():
        assert len(any_store.search(typed).hits) == count, typed
