"""Whoever grafts is killed, at any moment: the same again goes on from there, and ends where it would have ended. Two
who graft the same at once make one session of it."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest

import palaver

from ..postgres.conftest import _spaces, ready_space, server
from ..tools.puppet import Script
from . import long_source
from .long_source import Told, told

__all__ = ["_spaces", "ready_space", "server"]
GRAFT = """
import palaver
from palaver.grafts import source
from tests.grafts import long_source
source.TURNS = 5
with palaver.open(sys.argv[1], space=sys.argv[2] if sys.argv[2:] else None) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    store.graft(long_source.source(), progress=lambda at: print(at.turns, flush=True))
    print("done", flush=True)
"""
BATCHES = 61  # 300 turns, and a move


@pytest.fixture(scope="module")
def uninterrupted() -> Told:
    with palaver.open(":memory:") as store:
        store.graft(long_source.source())
        return told(store)


def graft_and_kill(path: Path, batches: int, seconds: float = 0.0) -> int:
    """Another process grafts, and is killed after so many batches; how many of its turns it had told."""
    with Script(GRAFT, str(path)) as process:
        process.hear()
        process.write("go")
        heard = [process.hear() for _ in range(batches)]
        time.sleep(seconds)
        heard += process.kill()
    return int(([word for word in heard if word != "done"] or ["0"])[-1])


def ends_well(path: Path, uninterrupted: Told, kept: int) -> None:
    with palaver.open(path) as store:
        done = store.graft(long_source.source())
        assert kept + done.turns <= long_source.TURNS  # what was told is there
        assert told(store) == uninterrupted
        assert store.verify() == []
        revision = store.sessions.get("long").revision
        again = store.graft(long_source.source())
        assert (again.turns, again.items, store.sessions.get("long").revision) == (0, 0, revision)
        assert told(store) == uninterrupted


@pytest.mark.parametrize("batches", [0, 1, 21, BATCHES])
def test_killed_after_a_batch_the_same_again_ends_as_if_nothing_had_happened(
    tmp_path: Path, uninterrupted: Told, batches: int
) -> None:
    kept = graft_and_kill(tmp_path / "a.db", batches)

    ends_well(tmp_path / "a.db", uninterrupted, kept)


def test_killed_again_and_again_at_random_moments(tmp_path: Path, uninterrupted: Told) -> None:
    chance = random.Random(20261118)

    for _ in range(4):
        kept = graft_and_kill(tmp_path / "a.db", chance.randrange(8), chance.uniform(0, 0.05))

    ends_well(tmp_path / "a.db", uninterrupted, kept)


def at_once(*where: str) -> None:
    """Two processes graft the same source at the same time."""
    with Script(GRAFT, *where) as one, Script(GRAFT, *where) as other:
        for process in (one, other):
            process.hear()
        for process in (one, other):
            process.write("go")
        assert [process.finish()[-1] for process in (one, other)] == ["done", "done"]


def one_session(store: palaver.Store, uninterrupted: Told) -> None:
    found: dict[str, Any] = told(store)
    assert [found[key] for key in ("tree", "natives", "usage", "sessions")] == [
        uninterrupted[key] for key in ("tree", "natives", "usage", "sessions")
    ]
    assert found["transcript"] == uninterrupted["transcript"]
    assert store.verify() == []
    assert store.graft(long_source.source()).turns == 0


def test_two_who_graft_the_same_at_once_make_one_session(tmp_path: Path, uninterrupted: Told) -> None:
    at_once(str(tmp_path / "a.db"))

    with palaver.open(tmp_path / "a.db") as store:
        one_session(store, uninterrupted)


def test_two_who_graft_the_same_at_once_make_one_session_on_postgres(
    ready_space: tuple[str, str], uninterrupted: Told
) -> None:
    at_once(*ready_space)

    dsn, space = ready_space
    with palaver.open(dsn, space=space) as store:
        one_session(store, uninterrupted)
