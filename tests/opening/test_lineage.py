"""The numbered tree says the same as a walk from turn to parent, also where parents are gone or go round in circles."""

from __future__ import annotations

import random

import pytest

from palaver.core.upkeep.lineage import Lineage
from palaver.core.upkeep.records import TurnEdgeRow


def edge(turn: int, parent: int | None, tokens: int = 1) -> TurnEdgeRow:
    above = None if parent is None else f"t{parent}"
    return TurnEdgeRow(f"t{turn}", above, "s", 0, "completed", 0, 1, None, 0, tokens, 0, 0, 0, 0, 0, 0, 0, 0.0, 2)


def ancestors(parents: dict[int, int | None], turn: int) -> list[int]:
    """A turn and those it comes from, up to a root, a parent that is gone, or where it has been before."""
    found: list[int] = []
    at: int | None = turn
    while at is not None and at in parents and at not in found:
        found.append(at)
        at = parents[at]
    return found


def forest(seed: int, *, forged: int) -> dict[int, int | None]:
    """Trees of fifty turns, in no order; some parents are gone, some are forged."""
    choose = random.Random(seed)
    numbers = list(range(50))
    choose.shuffle(numbers)
    parents: dict[int, int | None] = {}
    for place, turn in enumerate(numbers):
        parents[turn] = choose.choice([*numbers[:place], *numbers[max(0, place - 3) : place] * 5, None])
    parents[numbers[7]] = 99
    for _ in range(forged):
        parents[choose.choice(numbers)] = choose.choice(numbers)
    return parents


@pytest.mark.parametrize("seed", range(20))
def test_a_tree_is_told_as_a_walk_tells_it(seed: int) -> None:
    parents = forest(seed, forged=0)
    lineage = Lineage(edge(turn, parent, turn) for turn, parent in parents.items())
    assert lineage.circles == []
    for turn in parents:
        above = ancestors(parents, turn)
        on_path = {other for other in parents if lineage.is_on_path(f"t{other}", f"t{turn}")}
        assert on_path == set(above)
        assert lineage.sums(f"t{turn}") == (len(above), sum(above), 2 * len(above))
        assert not lineage.is_on_path(f"t{turn}", None) and not lineage.is_on_path("t99", f"t{turn}")


@pytest.mark.parametrize("seed", range(20))
def test_a_circle_is_cut_once_and_everything_else_holds(seed: int) -> None:
    parents = forest(seed, forged=6)
    lineage = Lineage(edge(turn, parent) for turn, parent in parents.items())
    circles = {frozenset(circle) for turn in parents if (circle := round_of(parents, turn))}
    assert len(lineage.circles) == len(circles)
    assert all(any(int(cut[1:]) in circle for cut in lineage.circles) for circle in circles)
    behind = set().union(*circles)
    for turn in parents:
        above = ancestors(parents, turn)
        if behind.isdisjoint(above):
            assert {other for other in parents if lineage.is_on_path(f"t{other}", f"t{turn}")} == set(above)
        assert (lineage.sums(f"t{turn}") is None) == (not behind.isdisjoint(above))


def round_of(parents: dict[int, int | None], turn: int) -> list[int]:
    """The circle that a turn is part of."""
    above = ancestors(parents, turn)
    return above if parents[above[-1]] == turn else []


def test_a_chain_of_fifty_thousand_turns_is_no_deep_recursion() -> None:
    lineage = Lineage(edge(turn, turn - 1 if turn else None) for turn in range(50_000))
    assert lineage.depth("t49999") == 50_000
    assert lineage.is_on_path("t0", "t49999") and not lineage.is_on_path("t49999", "t0")
