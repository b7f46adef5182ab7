"""Rows 106, 107, 110, 111, 119 and 121 of the promise ledger: compare-and-swap of the head, read from its history.

Many writers commit on the revision they last saw. From what each was told and what the file holds, a checker decides
whether every revision was won once, by a commit that is there whole, in an order that fits the clock on the wall.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import palaver

from ..tools.planting import broken_by
from ..tools.races import Asked
from ..tools.sql import everything, query
from ..tools.waiting import in_threads
from .support_writers import CREW, PIECES, Race, commit_of, race_of
from .support_writers_child import compete

RACERS = 8
TARGETS = pytest.mark.parametrize("target", [100, pytest.param(1_000, marks=pytest.mark.long)])
FROZEN = 4_000_000_000_000  # ms: far ahead, so that every stamp of the race is this one


def racer(path: str, session_id: str, folder: Path, number: int, target: int, **more: Any) -> dict[str, Any]:
    notes = str(folder / f"notes-{number}")
    job = {"job": "race", "path": path, "session": session_id, "me": f"r{number}", "notes": notes, "target": target}
    return {**job, "seed": number, **more}


def run(path: str, folder: Path, target: int, **more: Any) -> Race:
    """Eight processes race until the head has moved so often."""
    with palaver.open(path) as store:
        session_id = store.sessions.create("race").id
    CREW.together([racer(path, session_id, folder, number, target, **more) for number in range(RACERS)])
    return race_of(path, session_id, folder)


def hold(race: Race, target: int) -> None:
    print(f"outcomes: {dict(race.outcomes)}")
    assert race.problems()[:5] == []
    assert len(race.moves) >= target * PIECES
    assert race.outcomes["won"] >= target - race.outcomes[None]
    assert race.outcomes["lost"] > 0


# ---------------------------------------------------------------- 106, 107


@TARGETS
@broken_by("expected_is_not_compared", "a_lost_commit_leaves_rows")
def test_promise_106_a_commit_on_a_revision_that_is_gone_leaves_nothing(path: str, tmp_path: Path, target: int) -> None:
    hold(run(path, tmp_path, target), target)


@broken_by("expected_is_not_compared")
def test_promise_106_every_verb_that_moves_the_head_names_the_revision_it_expects(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    first = session.commit("one")
    session.commit("two")
    verbs: dict[str, Any] = {
        "commit": lambda: session.commit("no", expected=1),
        "turn": lambda: session.turn("no", expected=1),
        "rewind": lambda: session.rewind(to=first, expected=1),
        "undo": lambda: session.undo(expected=1),
        "move": lambda: session.move(to=first, expected=1),
        "regenerate": lambda: session.regenerate(expected=1),
        "edit": lambda: session.edit(session.messages()[1]["id"], "no", expected=1),
    }
    before = everything(store.path, without=("owners",))
    for name, verb in verbs.items():
        with pytest.raises(palaver.HeadConflict) as conflict:
            verb()
        assert (conflict.value.expected, conflict.value.actual) == (1, 2), name
        assert everything(store.path, without=("owners",)) == before, name


def run_with_kills(path: str, folder: Path, target: int, pause: float, **more: Any) -> tuple[Race, int]:
    """The same, while racers are killed, one every `pause` seconds or sooner, and others take their places."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance, kills = random.Random(seed), 0
    with palaver.open(path) as store:
        session = store.sessions.create("race")
        jobs = [racer(path, session.id, folder, number, target, **more) for number in range(RACERS)]
        with CREW.ready(jobs) as racing:
            for process in racing:
                process.tell()
            while session.revision < target:
                time.sleep(chance.uniform(0.0, pause))
                place, kills = chance.randrange(RACERS), kills + 1
                racing[place].end()
                racing[place] = CREW.start(**racer(path, session.id, folder, RACERS + kills, target, **more))
                assert racing[place].hear() == "ready"
                racing[place].tell()
            for process in racing:
                process.hear()
        assert store.verify() == []
    return race_of(path, session.id, folder), kills


@broken_by("check_and_apply_are_apart", "expected_is_not_compared")
def test_promise_107_at_most_one_of_eight_racing_processes_wins_a_revision(path: str, tmp_path: Path) -> None:
    race, kills = run_with_kills(path, tmp_path, 300, pause=0.2)
    hold(race, 300)
    assert kills > 0


@pytest.mark.long
def test_promise_107_a_hundred_thousand_revisions_are_won_once_each(path: str, tmp_path: Path) -> None:
    race, kills = run_with_kills(path, tmp_path, 100_000, pause=2.0, durability="normal")
    hold(race, 100_000)
    assert kills > 20


# ---------------------------------------------------------------- 110: one transaction


@TARGETS
@broken_by("check_and_apply_are_apart")
def test_promise_110_a_race_shows_that_the_check_is_part_of_the_move(path: str, tmp_path: Path, target: int) -> None:
    hold(run(path, tmp_path, target), target)


class Intruder:
    """Somebody who tries to move the head at the n-th statement that another store runs."""

    def __init__(self, path: str) -> None:
        self.other = palaver.open(path, timeout=0.01)
        self.countdown = 0
        self.won: bool | None = None  # None: there was no such statement

    def watch(self, connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: self.step())

    def step(self) -> None:
        self.countdown -= 1
        if self.countdown == 0:
            session = self.other.sessions.get(self.session_id)
            try:
                session.commit("the intruder", expected=self.expected)
                self.won = True
            except palaver.StoreBusy:
                self.won = False

    def arm(self, session_id: str, expected: int, at: int) -> None:
        self.session_id, self.expected, self.countdown, self.won = session_id, expected, at, None


@pytest.fixture
def intruder(path: str) -> Iterator[Intruder]:
    found = Intruder(path)
    apsw.connection_hooks.append(found.watch)
    yield found
    apsw.connection_hooks.remove(found.watch)
    found.other.close()


@broken_by("check_and_apply_are_apart")
def test_promise_110_nobody_gets_between_the_check_and_the_move(path: str, intruder: Intruder) -> None:
    with palaver.open(path) as store:
        session = store.sessions.create("a")
        session.commit("warm")
        for place in range(1, 200):
            intruder.arm(session.id, revision := session.revision, place)
            try:
                session.commit(f"ours {place}", expected=revision)
                ours = True
            except palaver.HeadConflict:
                ours = False
            intruder.countdown = 0
            assert ours != bool(intruder.won), f"at statement {place}"
            assert session.revision == revision + 1
            if intruder.won is None:
                break
        assert place > 5  # it has tried at every statement that a commit runs


# ---------------------------------------------------------------- 111: the same in memory


@pytest.mark.parametrize("place", [":memory:", "file"])
@broken_by("check_and_apply_are_apart", "expected_is_not_compared")
def test_promise_111_threads_race_for_the_head_in_memory_as_in_a_file(path: str, place: str) -> None:
    target, history = 150, list[Asked]()
    with palaver.open(path if place == "file" else place) as store:
        session = store.sessions.create("race")

        def work(number: int) -> None:
            began: dict[str, float] = {}

            def note(kind: str, who: str, expected: int) -> None:
                now = time.monotonic()
                if kind == "asked":
                    began[who] = now
                else:
                    history.append(Asked(who, expected, began[who], now, kind))

            compete(session, f"t{number}", random.Random(number), target, note)

        in_threads(work, range(RACERS))
        texts = [message["parts"][0]["text"] for message in session.messages()]
        moves = [(1 + at // PIECES, text) for at, text in enumerate(texts)]
        hold(Race(history, moves, texts), target)
        assert [line.revision for line in session.history()] == list(range(session.revision + 1))
        assert store.verify() == []


# ---------------------------------------------------------------- 119: no clock in it


@TARGETS
@broken_by("revisions_are_told_apart_by_time")
def test_promise_119_the_race_is_decided_while_the_clock_stands_still(path: str, tmp_path: Path, target: int) -> None:
    hold(run(path, tmp_path, target, frozen=FROZEN), target)
    assert query(path, "SELECT updated_at FROM chat_sessions") == [(FROZEN,)]


# ---------------------------------------------------------------- 121: readers


@broken_by("a_commit_lands_in_pieces", "reads_are_not_of_one_moment")
def test_promise_121_a_reader_never_sees_half_a_commit(path: str, tmp_path: Path) -> None:
    target = 300
    with palaver.open(path) as store:
        session_id = store.sessions.create("race").id
    readers = [{"job": "watch", "path": path, "session": session_id, "until": target}] * 2
    racers = [racer(path, session_id, tmp_path, number, target) for number in range(3)]
    reports = CREW.together([*readers, *racers])[:2]
    print(f"reads: {[report['reads'] for report in reports]}")
    for report in reports:
        assert report["halves"] == []
        assert report["reads"] > 10


ONE_MOMENT = """
SELECT h.session_id FROM heads h
  LEFT JOIN turns t ON t.id = h.turn_id
  LEFT JOIN reflog r ON r.session_id = h.session_id AND r.revision = h.revision
 WHERE t.sealed_at IS NULL OR t.digest IS NULL OR r.turn_id IS NOT h.turn_id
    OR (SELECT count(*) FROM turn_entries e WHERE e.turn_id = t.id AND e.kind = 'message') <> 3
    OR (SELECT count(*) FROM turn_entries e
          JOIN chat_messages m ON m.id = e.ref JOIN chat_parts p ON p.message_id = m.id WHERE e.turn_id = t.id) <> 3
"""


@broken_by("a_commit_lands_in_pieces")
def test_promise_121_every_moment_of_the_file_is_whole(path: str, tmp_path: Path) -> None:
    with palaver.open(path) as store:
        session = store.sessions.create("race")
        session.commit(commit_of("first"))
    with CREW.ready([racer(path, session.id, tmp_path, number, 300) for number in range(3)]) as racing:
        for process in racing:
            process.tell()
        looks = 0
        while query(path, "SELECT revision FROM heads") < [(300,)]:
            assert query(path, ONE_MOMENT) == []
            looks += 1
        for process in racing:
            process.hear()
    assert looks > 10
