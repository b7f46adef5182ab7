"""An ancestor is found by jumps in few steps, whatever the tree looks like; without jumps, by walking."""

from __future__ import annotations

import random

import pytest

import palaver
from palaver.core import rows
from palaver.core.read import jumps
from palaver.db.queries import Query

from .long_path import LongPath

UNFILL = Query("unfill", "UPDATE turns SET jump = NULL")


def grown(store: palaver.Store, seed: int) -> tuple[palaver.Session, dict[str, list[str]]]:
    """A tree of turns grown at random; for each turn, itself and what is before it, nearest first."""
    dice, session = random.Random(seed), store.sessions.create("coder")
    ways: dict[str, list[str]] = {}
    for number in range(60):
        if ways and dice.random() < 0.3:
            session.move(dice.choice([*ways, None]), expected=session.info.revision)
        turn = session.commit(str(number))
        ways[turn.id] = [turn.id, *ways.get(turn.parent_id or "", [])]
    return session, ways


@pytest.mark.parametrize("filled", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_ancestors_and_meetings_are_what_the_parents_say(store: palaver.Store, seed: int, filled: bool) -> None:
    _, ways = grown(store, seed)
    if not filled:
        with store.db.write() as tx:
            tx.run(UNFILL)
    with store.db.read() as tx:
        for one, way in ways.items():
            for other, second in ways.items():
                assert jumps.is_ancestor(tx, other, one) == (other in way)
                shared = [each for each in second if each in way]
                met = jumps.meeting(tx, one, other)
                assert (met and (met.id, met.depth)) == (shared[0], len(shared)) if shared else met is None


def test_nothing_is_before_nothing(store: palaver.Store) -> None:
    turn = store.sessions.create("coder").commit("one")
    with store.db.read() as tx:
        assert not jumps.is_ancestor(tx, turn.id, None) and not jumps.is_ancestor(tx, "trn_nobody", turn.id)
        assert jumps.meeting(tx, None, turn.id) is None and jumps.back(tx, "trn_nobody", above=0) is None


def test_few_steps_are_enough(store: palaver.Store) -> None:
    path = LongPath(store, 4_096)
    with store.db.read() as tx:
        for depth in (1, 2, 777, 2_048, 4_000, 4_095):
            steps = rows.way_back.all(tx, turn=path.turns[-1], above=depth - 1, messages=0)
            assert steps[-1] == (path.turns[depth - 1], depth)
            assert len(steps) <= 2 * 12 + 1
            assert [step.depth for step in steps] == sorted({step.depth for step in steps}, reverse=True)
