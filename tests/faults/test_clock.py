"""The clock jumps, stands still, wraps and runs differently in every process: the record stays in order."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import palaver
from palaver.base import ids

from ..tools.chunks import message
from . import turning
from .conftest import Other
from .turning import DAY, HOUR, IN_LINE, WRAP, YEAR_2100, Clock

NOON = 1_760_000_000_000
JUMPS = {
    "an hour back": [NOON, NOON - HOUR, NOON - HOUR + 5],
    "a day ahead and back": [NOON, NOON + DAY, NOON + DAY + 1, NOON + 1],
    "stuck": [NOON] * 4,
    "back and forth": [NOON, NOON - HOUR, NOON + DAY, NOON - 5, NOON + 2 * HOUR],
    "over the wrap": [WRAP - 2, WRAP - 1, WRAP, WRAP + 1],
    "back over the wrap": [WRAP + 1, WRAP - 1, WRAP],
    "the year 2100": [NOON, YEAR_2100, YEAR_2100 + 1],
    "the year 2100 and back": [YEAR_2100, NOON],
}


def answer(turn: palaver.Turn, clock: Clock, then: int) -> None:
    """The clock jumps in the middle of it."""
    turn.append([{"type": "start"}, {"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "a"}])
    clock.ms = then
    turn.append([{"type": "text-end", "id": "t"}, {"type": "text-start", "id": "u"}, {"type": "text-end", "id": "u"}])


def live_through(session: palaver.Session, clock: Clock, moments: list[int]) -> None:
    """At each moment: a whole turn, then one that streams into the next moment."""
    for now, then in zip(moments, [*moments[1:], moments[-1]], strict=True):
        clock.ms = now
        session.commit([message("user", "question"), message("assistant", "answer")])
        with session.turn("and then?") as turn:
            answer(turn, clock, then)


@pytest.mark.parametrize("jumps", JUMPS)
def test_whatever_the_clock_does_times_and_ids_follow_the_order_of_record(
    jumps: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch, JUMPS[jumps][0])
    with palaver.open(path) as store:
        session = store.sessions.create()
        live_through(session, clock, JUMPS[jumps])
        assert turning.disorder(path, session.id) == IN_LINE
        assert len(turning.times(path, session.id)) == 4 * len(JUMPS[jumps])
        assert store.verify() == []


def test_a_store_opened_again_by_a_clock_an_hour_behind_goes_on_after_its_newest_row(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch, NOON)
    with palaver.open(path) as store:
        session = store.sessions.create()
        session.commit("before")
    clock.ms = NOON - HOUR
    with palaver.open(path) as store:
        store.sessions.get(session.id).commit("after")
    assert turning.times(path, session.id) == [NOON, NOON + 1]


def test_a_fork_made_by_a_clock_that_went_back_goes_on_after_what_it_shares(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch, NOON)
    with palaver.open(path) as store:
        session = store.sessions.create()
        session.commit("before")
        clock.ms = NOON - HOUR
        fork = session.fork()
        fork.commit("after")
        assert turning.times(path, session.id) + turning.times(path, fork.id) == [NOON, NOON + 1]


def test_a_rewound_session_goes_on_after_what_it_left_behind(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, NOON)
    with palaver.open(path) as store:
        session = store.sessions.create()
        first = session.commit("first")
        session.commit("second")
        clock.ms = NOON - HOUR
        session.rewind(to=first)
        session.commit("instead")
        assert sorted(turning.times(path, session.id)) == [NOON, NOON + 1, NOON + 2]
        assert [m["parts"][0]["text"] for m in session.messages()] == ["first", "instead"]


# ---------------------------------------------------------------- ids by themselves


def test_a_hundred_thousand_ids_of_one_millisecond_are_unique_and_increase(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch, NOON)
    minted = [ids.mint(ids.MESSAGE) for _ in range(100_000)]
    assert turning.inversions(minted) == 0
    assert {len(each) for each in minted} == {30}


def test_threads_that_mint_in_one_millisecond_never_mint_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch, NOON)
    with ThreadPoolExecutor(8) as threads:
        minted = list(threads.map(lambda _: [ids.mint(ids.PART) for _ in range(5_000)], range(8)))
    assert len({each for thread in minted for each in thread}) == 40_000
    assert sum(map(turning.inversions, minted)) == 0


@pytest.mark.parametrize("moment", [WRAP, YEAR_2100], ids=["the wrap", "the year 2100"])
def test_ids_around_a_moment_keep_their_length_and_their_order(moment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, moment)
    minted = []
    for clock.ms in range(moment - 3, moment + 4):
        minted += [ids.mint(ids.SESSION), ids.mint(ids.SESSION)]
    assert turning.inversions(minted) == 0
    assert [int(each[4:18], 16) // 4096 for each in minted[::2]] == list(range(moment - 3, moment + 4))
    assert all(ids.is_ours(ids.SESSION, each) for each in minted)


# ---------------------------------------------------------------- many processes, each with a clock of its own

SKEWS = [-3600, -60, -1, 0, 1, 60, 3600, 80_000]  # seconds
ROUNDS = 12


def test_processes_with_skewed_clocks_write_one_session_in_order(other: Callable[..., Other], fast: Path) -> None:
    writers = [other(skew=skew) for skew in SKEWS]
    session = writers[0]("create")
    for writer in writers:
        writer.ask("commit_many", session, ROUNDS, 20)
    for writer in writers:
        writer.answer()
    seen = turning.times(str(fast / "s.db"), session)
    assert len(seen) == len(SKEWS) * ROUNDS
    assert turning.inversions(seen) == 0
    assert writers[0]("verify") == []


def test_processes_with_skewed_clocks_that_take_turns_write_one_session_in_order(
    other: Callable[..., Other], fast: Path
) -> None:
    writers = [other(skew=skew) for skew in (80_000, -3600, 0)]
    session = writers[0]("create")
    for writer in writers * 3:
        turn = writer("begin", session, "question")
        writer("say", turn, "answer")
        writer("seal", turn)
    seen = turning.times(str(fast / "s.db"), session)
    assert len(seen) == 18 and turning.inversions(seen) == 0
    assert [writer("verify") for writer in writers] == [[], [], []]
