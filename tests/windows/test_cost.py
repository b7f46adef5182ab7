"""A window costs the same however long the path is, in every direction, and in a turn of very many messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import palaver

from ..load.counting import steps
from ..postgres.conftest import _spaces, ready_space, server
from .counting import rows_read
from .long_path import LongPath

__all__ = ["_spaces", "ready_space", "server"]
SHORT, LONG = 100, 10_000
Cost = Callable[[Callable[[], object]], int]


@pytest.fixture
def on_file(path: str) -> Iterator[tuple[palaver.Store, Cost]]:
    with steps() as taken, palaver.open(path, durability="normal") as store:

        def cost(read: Callable[[], object]) -> int:
            taken.clear()
            read()
            return sum(taken)

        yield store, cost


@pytest.fixture
def on_postgres(ready_space: tuple[str, str]) -> Iterator[tuple[palaver.Store, Cost]]:
    dsn, space = ready_space
    with palaver.open(dsn, space=space) as store:
        yield store, lambda read: rows_read(store, read)


def reads(path: LongPath) -> dict[str, Callable[[], list[object]]]:
    """Windows of 50 in every direction: from the ends, and from the middle."""
    session, middle, turn = path.session, path.messages[len(path.messages) // 2], path.turns[len(path.turns) // 2]
    return {
        "newest": lambda: session.messages(limit=50),
        "before": lambda: session.messages(before=middle, limit=50),
        "first": lambda: session.messages(after="", limit=50),
        "after": lambda: session.messages(after=middle, limit=50),
        "newest parts": lambda: session.parts("text", limit=50),
        "parts before": lambda: session.parts("text", before=middle, limit=50),
        "first parts": lambda: session.parts("text", after="", limit=50),
        "parts after": lambda: session.parts("text", after=middle, limit=50),
        "newest turns": lambda: session.path(limit=50),
        "turns before": lambda: session.path(before=turn, limit=50),
        "first turns": lambda: session.path(after="", limit=50),
        "turns after": lambda: session.path(after=turn, limit=50),
    }


def compare(store: palaver.Store, cost: Cost) -> None:
    for shape, (short, long) in {
        "turns": (LongPath(store, SHORT), LongPath(store, LONG)),
        "messages of one turn": (LongPath(store, 1, SHORT), LongPath(store, 1, LONG)),
    }.items():
        few, many = reads(short), reads(long)
        for name, read in few.items():
            costs = cost(read), cost(many[name])
            print(f"{shape}, {name}: {costs[0]} of {SHORT}, {costs[1]} of {LONG:,}")
            assert 0 < costs[1] <= 2 * costs[0], (shape, name, costs)


def test_promise_172_a_window_costs_the_same_at_any_depth_of_a_file(on_file: tuple[palaver.Store, Cost]) -> None:
    compare(*on_file)


def test_without_jumps_the_first_page_is_walked_to_and_that_is_seen(
    on_file: tuple[palaver.Store, Cost],
) -> None:
    store, cost = on_file
    short, long = (reads(LongPath(store, turns, filled=False)) for turns in (SHORT, 1_000))
    assert cost(long["newest"]) <= 2 * cost(short["newest"])
    assert cost(long["first"]) > 2 * cost(short["first"])


def test_promise_172_a_window_costs_the_same_at_any_depth_on_postgres(on_postgres: tuple[palaver.Store, Cost]) -> None:
    compare(*on_postgres)
