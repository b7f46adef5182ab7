"""What a power cut leaves (rows 61 and 62): a whole store, a prefix of its commits, every boundary.

Boundaries are a user message, a tool result, a finish-step, and every move of a head.
"""

from __future__ import annotations

import random
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import palaver

from ..tools.planting import broken_by
from .support_power import Cut, Op, cuts, load
from .support_saving import Child

pytestmark = pytest.mark.on_disk

COUNTS = pytest.mark.parametrize("count", [40, pytest.param(500, marks=pytest.mark.long)])


@lru_cache
def log_of(durability: str) -> list[Op]:
    """A short life of a store, once."""
    with TemporaryDirectory() as folder:
        path = Path(folder)
        with Child("power", path / "talks.db", log=str(path / "log"), durability=durability, turns=6) as child:
            child.finish()
        return load(path / "log")


def cut(folder: Path, durability: str, count: int) -> list[Cut]:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    return cuts(log_of(durability), count, seed, folder)


@COUNTS
@pytest.mark.parametrize("durability", ["boundary", "normal", "full"])
@broken_by("nothing_is_synced")
def test_promise_061_a_power_cut_corrupts_nothing_and_a_prefix_of_the_commits_survives(
    tmp_path: Path, durability: str, count: int
) -> None:
    verdicts = [one.judge() for one in cut(tmp_path, durability, count)]
    assert {verdict for verdict, _ in verdicts} == {"ok"}
    assert min(state for _, state in verdicts) >= 0, "a store holds something that was never its whole content"


@COUNTS
def test_promise_061_with_normal_durability_only_the_newest_commits_can_be_lost(tmp_path: Path, count: int) -> None:
    made = cut(tmp_path, "normal", count)
    lost = [one.acknowledged - one.judge()[1] for one in made]
    assert max(lost) > 0, "no cut lost anything: the cuts do not cut"
    assert max(lost) < len(made[0].states) - 1, "even checkpointed commits were lost"


@COUNTS
@broken_by("boundaries_are_not_synced")
def test_promise_062_no_acknowledged_boundary_is_lost_by_a_power_cut(tmp_path: Path, count: int) -> None:
    made = cut(tmp_path, "boundary", count)
    assert any(one.boundary > 0 for one in made)
    assert [one.path for one in made if one.judge()[1] < one.boundary] == []


@COUNTS
def test_promise_062_with_full_durability_nothing_acknowledged_is_lost(tmp_path: Path, count: int) -> None:
    made = [one for one in cut(tmp_path, "full", count) if one.acknowledged > 1]
    assert [one.path for one in made if one.judge()[1] < one.acknowledged] == []


def test_promise_061_a_store_opens_and_verifies_after_a_power_cut(tmp_path: Path) -> None:
    for one in cut(tmp_path, "boundary", 8):
        with palaver.open(one.path) as store:
            assert store.verify() == []
            assert all(session.archived_at is None for session in store.sessions)
