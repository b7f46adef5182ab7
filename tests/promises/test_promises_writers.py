"""Rows 113 to 118 and 120 of the promise ledger: many programs write one file, and none is turned away or starved.

Writers stand in one line before they ask for SQLite's lock; a program that does not know the line is waited for.
Waiting is counted, not timed: how many commits of others came between asking and being served.
"""

from __future__ import annotations

import json
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import palaver

from ..load.crowd import wal_size
from ..tools.planting import broken_by
from ..tools.puppet import Report
from ..tools.sql import query
from .support_writers import CREW

OVERTAKEN = 60  # commits of others between asking and being served, for each process; without the queue: hundreds
MB = 1 << 20
SECONDS = pytest.mark.parametrize("seconds", [0.4, pytest.param(2.0, marks=pytest.mark.long)])


def texts(path: str, session_id: str) -> list[str]:
    with palaver.open(path) as store:
        return [m["parts"][0]["text"] for m in store.sessions.get(session_id).messages() if m["role"] == "user"]


def nothing_is_lost_or_doubled(path: str, reports: list[Report]) -> None:
    for report in reports:
        said = [f"{report['me']} {number}" for number in range(len(report["stood"]))]
        assert texts(path, report["session"]) == said
        assert said != []


def writers(path: str, count: int, seconds: float, **more: Any) -> list[dict[str, Any]]:
    palaver.open(path).close()
    return [{"job": "write", "path": path, "me": f"w{n}", "seconds": seconds, **more} for n in range(count)]


# ---------------------------------------------------------------- 113: try again, to a deadline


@SECONDS
@broken_by("busy_is_an_error")
def test_promise_113_writers_wait_for_a_program_that_is_not_in_their_line(path: str, seconds: float) -> None:
    jobs = [*writers(path, 8, seconds), *[{"job": "intrude", "path": path, "seconds": seconds}] * 2]
    *reports, one, other = CREW.together(jobs)
    assert [error for report in reports for error in report["errors"]] == []
    assert one["held"] + other["held"] > 0  # how often depends on the machine
    nothing_is_lost_or_doubled(path, reports)


@pytest.mark.long
def test_promise_113_sixteen_writers_see_no_error(path: str) -> None:
    jobs = [*writers(path, 16, 20.0, streams=True), *[{"job": "intrude", "path": path, "seconds": 20.0}] * 2]
    reports = CREW.together(jobs)[:16]
    assert [error for report in reports for error in report["errors"]] == []
    nothing_is_lost_or_doubled(path, reports)


@broken_by("busy_is_an_error")
def test_promise_113_the_tries_are_short_and_uneven_and_end_at_the_deadline(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    sleep = time.sleep
    with palaver.open(path, timeout=0.4) as store:
        session = store.sessions.create("a")
        other = apsw.Connection(path)
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(time, "sleep", lambda seconds: (pauses.append(seconds), sleep(seconds))[1])
        with pytest.raises(palaver.StoreBusy):
            session.commit("too late")
        monkeypatch.undo()
        other.execute("ROLLBACK")
        other.close()
        session.commit("in time")
        assert [message["parts"][0]["text"] for message in session.messages()] == ["in time"]
    assert len(pauses) > 3 and len(set(pauses)) > 3
    assert max(pauses) <= 0.15 and sum(pauses) <= 0.4 + max(pauses)


# ---------------------------------------------------------------- 114: the lock is asked for at the beginning


@broken_by("begin_is_deferred")
def test_promise_114_whoever_begins_to_write_has_the_lock(path: str) -> None:
    refused, writer = [], list[apsw.Connection]()
    palaver.open(path).close()
    other = apsw.Connection(path)

    def try_to_write(event: dict[str, Any]) -> None:
        if event["connection"] is writer[0] and writer[0].in_transaction:
            try:
                other.execute("BEGIN IMMEDIATE; ROLLBACK")
                refused.append(False)
            except apsw.BusyError:
                refused.append(True)

    def watch(connection: apsw.Connection) -> None:
        writer.append(connection)
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, try_to_write)

    apsw.connection_hooks.append(watch)
    try:
        with palaver.open(path) as store:
            live(store)
    finally:
        apsw.connection_hooks.remove(watch)
        other.close()
    assert len(refused) > 50 and all(refused)


def live(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    session.commit("question")
    with session.turn("another") as turn:
        turn.append([{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "yes"}])
    session.fork(at=session.path()[0])
    session.rewind(to=session.path()[0])
    session.undo()
    session.archive()


@SECONDS
@broken_by("begin_is_deferred")
def test_promise_114_a_transaction_never_fails_in_the_middle_for_a_lock(path: str, seconds: float) -> None:
    jobs = [*writers(path, 4, seconds, streams=True), *[{"job": "intrude", "path": path, "seconds": seconds}] * 2]
    reports = CREW.together(jobs)[:4]
    assert [error for report in reports for error in report["errors"]] == []
    nothing_is_lost_or_doubled(path, reports)


# ---------------------------------------------------------------- 115: the log


def write_much(session: palaver.Session, path: str, commits: int) -> int:
    """The greatest size that the log had meanwhile. A commit of these takes some 50 KB of it."""
    greatest = 0
    for number in range(commits):
        session.commit(f"message {number} " + "x" * 2_000)
        greatest = max(greatest, wal_size(path))
    return greatest


@broken_by("nothing_is_checkpointed")
def test_promise_115_the_log_stays_bounded_beside_a_reader_and_after_it(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palaver.background.jobs.Index.due", lambda *_: None)  # one batch is as large as many writes
    with palaver.open(path, durability="normal") as store:
        session = store.sessions.create("a")
        sizes = []
        with CREW.ready([{"job": "look", "path": path}]) as (reader,):
            reader.tell()
            for _ in range(6):
                reader.tell("take a snapshot")
                assert reader.hear() == "ok"
                sizes.append(write_much(session, path, 150))
                reader.tell("let go of it")
                assert reader.hear() == "ok"
                write_much(session, path, 20)
        after = write_much(session, path, 600)
    print(f"beside the reader: {[size // 1024 for size in sizes]} KB; after it: {after // 1024} KB")
    assert 4 * MB < max(sizes) <= 3 * sizes[0]  # of a snapshot or two, not of all six
    assert after <= max(sizes) + MB // 8  # where a checkpoint happens to come a commit or two later


# ---------------------------------------------------------------- 116: fair


BY_PLACE = "SELECT m.rowid, p.data_json FROM chat_messages m JOIN chat_parts p ON p.message_id = m.id ORDER BY m.rowid"


def overtaken(path: str, reports: list[Report]) -> int:
    """The most commits of others that came between somebody's asking and being served, in the file's own order."""
    stood = {f"{r['me']} {number}": place for r in reports for number, place in enumerate(r["stood"])}
    order = [(place, str(json.loads(data)["text"])) for place, data in query(path, BY_PLACE)]
    places, who = [place for place, _ in order], [said.split()[0] for _, said in order]
    worst = 0
    for served, (_, said) in enumerate(order):
        between = who[bisect_right(places, stood[said]) : served]
        worst = max(worst, len(between) - between.count(who[served]))
    return worst


@pytest.mark.parametrize("seconds", [0.8, pytest.param(2.0, marks=pytest.mark.long)])  # in less, luck has a share, too
@broken_by("writers_do_not_queue")
def test_promise_116_nobody_waits_while_the_others_go_round_and_round(path: str, seconds: float) -> None:
    attempts = (f"{path}.{attempt}" for attempt in range(3))  # the system may stop one for a while
    assert any(everybody_had_a_turn(attempt, seconds) for attempt in attempts)


def everybody_had_a_turn(path: str, seconds: float) -> bool:
    reports = CREW.together(writers(path, 8, seconds))
    shares, worst = [len(report["stood"]) for report in reports], overtaken(path, reports)
    print(f"commits: {shares}; overtaken by at most {worst}")
    return worst <= OVERTAKEN * len(reports) and min(shares) >= max(shares) / 2


# ---------------------------------------------------------------- 117: readers and writers


READS: dict[str, Callable[[palaver.Store, palaver.Session], Any]] = {
    "messages": lambda store, session: session.messages(),
    "path": lambda store, session: [turn.id for turn in session.path()],
    "tree": lambda store, session: [turn.id for turn in session.tree()],
    "history": lambda store, session: [line.seq for line in session.history()],
    "events": lambda store, session: [event.seq for event in session.events()],
    "list": lambda store, session: [info.id for info in store.sessions.list().sessions],
    "verify": lambda store, session: store.verify(),
}


@pytest.mark.parametrize("holder", ["ours", "another"])
@broken_by("readers_stand_in_line")
def test_promise_117_a_writer_in_the_middle_of_its_work_holds_up_no_reader(path: str, holder: str) -> None:
    with palaver.open(path, timeout=1.0) as store:
        session = store.sessions.create("a")
        session.commit("question")
        before = {name: read(store, session) for name, read in READS.items()}
        with CREW.ready([{"job": "hold", "path": path, "how": holder}]) as (writer,):
            assert {name: read(store, session) for name, read in READS.items()} == before
            with palaver.open(path, timeout=1.0) as second:
                assert second.sessions.get(session.id).messages() == before["messages"]
            writer.tell()
            assert writer.hear() == {"done": holder}


def test_promise_117_a_reader_in_the_middle_of_its_work_holds_up_no_writer(path: str) -> None:
    with palaver.open(path, timeout=1.0, durability="normal") as store:
        session = store.sessions.create("a")
        session.commit("question")
        with CREW.ready([{"job": "hold", "path": path, "how": "reading"}]) as (reader,):
            write_much(session, path, 200)  # checkpoints, too
            with session.turn("another") as turn:
                turn.write({"type": "text-start", "id": "t"})
            reader.tell()
            assert reader.hear() == {"done": "reading"}
        assert wal_size(path) > 8 * MB
        assert store.verify() == []


def test_promise_117_reads_go_on_at_their_pace_beside_a_busy_writer(path: str) -> None:
    """Printed for the eye: how long a read takes. Asserted: many reads and commits, and none failed."""
    with palaver.open(path) as store:
        session = store.sessions.create("a")
        session.commit("question")
        with CREW.ready(writers(path, 1, 0.5)) as (writer,):
            alone = sorted(_reads(session, 0.1))
            writer.tell()
            beside = sorted(_reads(session, 0.3))
            report = writer.hear()
    alone_99, beside_99 = (took[len(took) * 99 // 100] * 1e6 for took in (alone, beside))
    print(f"p99 of a read: {alone_99:.0f} µs alone, {beside_99:.0f} µs beside a writer")
    assert report["errors"] == [] and len(report["stood"]) > 10 and len(beside) > 10


def _reads(session: palaver.Session, seconds: float) -> Iterator[float]:
    end = time.monotonic() + seconds
    while (began := time.monotonic()) < end:
        assert len(session.messages()) == 1
        yield time.monotonic() - began


# ---------------------------------------------------------------- 118: many processes, one file


def no_damage(path: str) -> None:
    assert query(path, "PRAGMA integrity_check") == [("ok",)]
    assert query(path, "PRAGMA foreign_key_check") == []
    with palaver.open(path) as store:
        assert store.verify() == []


@SECONDS
@broken_by("locks_are_dropped")
def test_promise_118_eight_processes_write_one_file_and_nothing_is_damaged(path: str, seconds: float) -> None:
    reports = CREW.together(writers(path, 8, seconds, streams=True))
    assert [error for report in reports for error in report["errors"]] == []
    nothing_is_lost_or_doubled(path, reports)
    no_damage(path)


@pytest.mark.long
def test_promise_118_sixteen_processes_for_a_minute(path: str) -> None:
    reports = CREW.together(writers(path, 16, 60.0, streams=True))
    assert [error for report in reports for error in report["errors"]] == []
    nothing_is_lost_or_doubled(path, reports)
    no_damage(path)


# ---------------------------------------------------------------- 120: the first opening


def open_at_once(folder: Path, rounds: int) -> None:
    with CREW.ready([{"job": "open_files"}] * 16) as openers:
        for opener in openers:
            opener.tell()
        for number in range(rounds):
            path = str(folder / f"{number}.db")
            for opener in openers:
                opener.tell(path)
            assert [opener.hear() for opener in openers] == ["ok"] * 16, f"round {number}"
            assert query(path, "SELECT count(*) FROM chat_messages") == [(16,)]
            assert query(path, "PRAGMA journal_mode") == [("wal",)]


@broken_by("first_openers_do_not_queue")
def test_promise_120_sixteen_processes_open_a_fresh_path_at_once(tmp_path: Path) -> None:
    open_at_once(tmp_path, 4)


@pytest.mark.long
def test_promise_120_sixteen_processes_open_a_fresh_path_at_once_two_hundred_times(tmp_path: Path) -> None:
    open_at_once(tmp_path, 200)
