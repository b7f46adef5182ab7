"""Many writers of one file: no caller sees an error, nothing is lost or doubled, nobody starves, the log stays small.

Each process goes round and round: a whole turn in a session of its own, a whole turn in one that all share, a stream.
Fairness is counted, not timed: how many questions of others were answered between asking and being served.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import apsw
import pytest

import palaver

from ..tools.puppet import Report
from .crowd import CREW, Watch, wal_size
from .jobs import WORDS

pytestmark = pytest.mark.on_disk  # in memory they would write a larger log while the reader holds on

WAL_LIMIT = 64 << 20
SHARE = 0.5  # of who got least, in what the one got who got most
OVERTAKEN = 40  # questions of others between asking and being served, for each process in the crowd
BY_PLACE = """
SELECT m.rowid, p.data_json FROM chat_messages m JOIN chat_parts p ON p.message_id = m.id
 WHERE m.role = 'user' ORDER BY m.rowid
"""


class Crowd(NamedTuple):
    path: str
    shared: str
    reports: list[Report]
    log: int  # the greatest size of the write-ahead log


def write_together(path: str, processes: int, seconds: float) -> Crowd:
    """All of them write for so long, beside a reader that holds on to each moment of the file for half a second."""
    with palaver.open(path) as store:
        shared = store.sessions.create("everybody").id
    common = {"path": path, "seconds": seconds}
    writers = [{"job": "write", "me": f"w{n}", "shared": shared, **common} for n in range(processes)]
    with CREW.ready([*writers, {"job": "read", **common}]) as started, Watch(lambda: wal_size(path)) as log:
        for worker in started:
            worker.tell()
        *reports, reader = [worker.hear() for worker in started]
    assert reader["moments"] >= 2 and reader["moved"] == 0
    return Crowd(path, shared, reports, log.greatest)


@pytest.fixture(scope="session")
def eight() -> Iterator[Crowd]:
    with TemporaryDirectory() as folder:
        yield write_together(f"{folder}/talks.db", 8, 3.0)


@pytest.fixture(scope="session")
def eight_for_longer() -> Iterator[Crowd]:
    with TemporaryDirectory() as folder:
        yield write_together(f"{folder}/talks.db", 8, 6.0)


@pytest.fixture(scope="session")
def sixteen() -> Iterator[Crowd]:
    with TemporaryDirectory() as folder:
        yield write_together(f"{folder}/talks.db", 16, 20.0)


# ---------------------------------------------------------------- what must hold


def no_caller_saw_an_error(crowd: Crowd) -> None:
    assert [error for report in crowd.reports for error in report["errors"]] == []
    assert all(report["rounds"] > 0 for report in crowd.reports)


def nothing_is_lost_or_doubled(crowd: Crowd) -> None:
    with palaver.open(crowd.path) as store:
        shared = texts(store.sessions.get(crowd.shared))
        for report in crowd.reports:
            me, rounds = report["me"], range(report["rounds"])
            assert [said for said in shared if said.split()[0] == me] == [f"{me} shared {n}" for n in rounds]
            own = [said for n in rounds for said in (f"{me} own {n}", f"{me} stream {n}", "".join(WORDS))]
            assert texts(store.sessions.get(report["own"])) == own
        assert len(shared) == sum(report["rounds"] for report in crowd.reports)


def texts(session: palaver.Session) -> list[str]:
    return [message["parts"][-1]["text"] for message in session.messages()]


def everybody_gets_a_share(crowd: Crowd) -> None:
    rounds = [report["rounds"] for report in crowd.reports]
    print(f"rounds: {rounds}")
    assert min(rounds) >= SHARE * max(rounds)


def nobody_is_overtaken_for_long(crowd: Crowd) -> None:
    worst, wait = overtaken(crowd), max(report["worst"] for report in crowd.reports)
    print(f"overtaken by at most {worst}; worst wait {wait * 1000:.0f} ms")
    assert worst <= OVERTAKEN * len(crowd.reports)


def overtaken(crowd: Crowd) -> int:
    """The most questions of others that came between somebody's asking and being served, in the file's own order."""
    stood = {said: place for report in crowd.reports for said, place in report["stood"].items()}
    db = apsw.Connection(crowd.path, flags=apsw.SQLITE_OPEN_READONLY)
    order = [(place, json.loads(data)["text"]) for place, data in db.execute(BY_PLACE)]
    db.close()
    places, who = [place for place, _ in order], [said.split()[0] for _, said in order]
    worst = 0
    for served, (_, said) in enumerate(order):
        between = who[bisect_right(places, stood[said]) : served]
        worst = max(worst, len(between) - between.count(who[served]))
    return worst


def the_log_stays_small(crowd: Crowd) -> None:
    print(f"the log took at most {crowd.log / (1 << 20):.1f} MB")
    assert 0 < crowd.log <= WAL_LIMIT


def the_record_is_whole(crowd: Crowd) -> None:
    with palaver.open(crowd.path) as store:
        assert store.verify() == []
    db = apsw.Connection(crowd.path, flags=apsw.SQLITE_OPEN_READONLY)
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.close()
    assert list(Path(crowd.path + "-owners").iterdir()) == []


CLAIMS = (
    no_caller_saw_an_error,
    nothing_is_lost_or_doubled,
    everybody_gets_a_share,
    nobody_is_overtaken_for_long,
    the_log_stays_small,
    the_record_is_whole,
)
each_claim = pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
one_process = pytest.mark.xdist_group("load")  # so that parallel runs write with one crowd, not with six


@one_process
@each_claim
def test_eight_processes_write_one_file(eight: Crowd, claim: object) -> None:
    assert callable(claim)
    claim(eight)


@pytest.mark.long
@one_process
@each_claim
def test_eight_processes_write_one_file_for_six_seconds(eight_for_longer: Crowd, claim: object) -> None:
    assert callable(claim)
    claim(eight_for_longer)


@pytest.mark.long
@one_process
@each_claim
def test_sixteen_processes_write_one_file_for_twenty_seconds(sixteen: Crowd, claim: object) -> None:
    assert callable(claim)
    claim(sixteen)
