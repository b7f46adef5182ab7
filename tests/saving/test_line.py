"""The line of writing processes: who was at its front goes on for a moment, and nobody is kept out for long."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw
import pytest

import palaver
from palaver.base.clock import monotonic
from palaver.db.sqlite import writers_line
from palaver.db.sqlite.lock_table import holder

from ..tools.puppet import Script
from ..tools.sql import query
from ..tools.waiting import until
from .support import PATIENCE

HOLD = """
import fcntl
fd = os.open(sys.argv[1] + "-queue", os.O_RDWR)
fcntl.flock(fd, fcntl.LOCK_EX)
print("front", flush=True)
sys.stdin.readline()
"""


class Calls:
    """The system call, counted."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count = 0
        patch.setattr("palaver.db.sqlite.writers_line.fcntl", self)

    def __getattr__(self, name: str) -> Any:
        return getattr(fcntl, name)

    def flock(self, fd: int, operation: int) -> None:
        self.count += 1
        fcntl.flock(fd, operation)


@contextmanager
def somebody_at_the_front(path: str) -> Iterator[Script]:
    with Script(HOLD, path) as process:
        assert process.hear() == "front"
        yield process


def test_a_process_that_writes_on_and_on_stands_in_line_once(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers_line, "_SLICE", 600.0)
    with palaver.open(path) as store:
        session = store.sessions.create("a")
        session.commit("the first")
        calls = Calls(monkeypatch)
        for number in range(20):
            session.commit(f"message {number}")
        assert calls.count == 0


def test_who_has_written_long_enough_lets_the_front_of_the_line_in(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers_line, "_SLICE", 0.0)
    monkeypatch.setattr(writers_line, "_PATIENCE", 600.0)
    with palaver.open(path, timeout=0.3) as store:
        session = store.sessions.create("a")
        with somebody_at_the_front(path):
            other = apsw.Connection(path)
            other.execute("BEGIN IMMEDIATE")  # it is let in at once
            with pytest.raises(palaver.StoreBusy):
                session.commit("too late")
            other.execute("ROLLBACK")
            other.close()
        session.commit("in time")
        assert [message["parts"][0]["text"] for message in session.messages()] == ["in time"]


def test_a_process_stopped_at_the_front_keeps_nobody_from_writing(path: str) -> None:
    with palaver.open(path, timeout=10) as store:
        session = store.sessions.create("a")
        with somebody_at_the_front(path) as process:
            process.send(signal.SIGSTOP)
            for number in range(3):
                session.commit(f"message {number}")
        session.commit("afterwards")
    assert query(path, "SELECT count(*) FROM chat_messages") == [(4,)]


def waits_behind_a_stopped_process(path: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many of twenty writes waited for who is stopped at the front."""
    waits: list[float] = []
    came = writers_line.Waiter.came

    def counted(waiter: writers_line.Waiter, seconds: float) -> bool:
        waits.extend([seconds] if seconds > 0 else [])
        return came(waiter, seconds)

    monkeypatch.setattr("palaver.background.jobs.Index.due", lambda *_: None)  # which would wait, too
    with palaver.open(path, timeout=30) as store:
        session = store.sessions.create("a")
        with somebody_at_the_front(path) as process:
            process.send(signal.SIGSTOP)
            process.wait_until_stopped()
            monkeypatch.setattr(writers_line.Waiter, "came", counted)
            monkeypatch.setattr(writers_line, "_SLICE", 0.0)
            for number in range(20):
                session.commit(f"message {number}")
        assert len(session.messages()) == 20
    return len(waits)


def test_who_is_stopped_at_the_front_is_waited_for_once_and_not_before_every_write(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers_line, "_PASSING", 600.0)
    assert waits_behind_a_stopped_process(path, monkeypatch) == 1


def test_a_line_that_forgets_whom_it_passed_is_found_out(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: as it was."""
    monkeypatch.setattr(writers_line, "_PASSING", 0.0)
    monkeypatch.setattr(writers_line, "_PATIENCE", 0.01)
    assert waits_behind_a_stopped_process(path, monkeypatch) == 20


def test_when_the_stopped_one_goes_on_the_line_is_a_line_again(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers_line, "_PASSING", 600.0)
    monkeypatch.setattr(writers_line, "_SLICE", 0.0)
    with palaver.open(path, timeout=30) as store:
        session = store.sessions.create("a")
        with somebody_at_the_front(path) as process:
            process.send(signal.SIGSTOP)
            process.wait_until_stopped()
            session.commit("passing")

        def is_in_line() -> bool:
            session.commit("in line")
            return store.db._queue._passing_until == 0.0  # type: ignore[attr-defined]

        until(is_in_line, "who waits behind the dead one comes to the front")
        queue = writers_line.WritersLine(path + "-queue")
        assert queue.acquire(PATIENCE)  # nobody holds on to it
        queue.close()


def test_the_lock_is_named_by_its_holder_also_if_that_knows_nothing_of_the_line(path: str) -> None:
    with palaver.open(path, timeout=0.2) as store:
        session = store.sessions.create("a")
        other = apsw.Connection(path)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(palaver.StoreBusy) as busy:
            session.commit("never")
        assert busy.value.holder == f"process {os.getpid()}"
        other.execute("ROLLBACK")
        other.close()
        assert holder(path) is None


def test_who_waits_at_the_back_for_long_keeps_its_place_and_gets_no_moment_for_passing(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers_line, "_PATIENCE", 0.05)
    monkeypatch.setattr(writers_line, "_SLICE", 600.0)
    first, mine = writers_line.WritersLine(path + "-queue"), writers_line.WritersLine(path + "-queue")
    assert first.acquire(1)
    for _ in range(2):
        mine.enter(monotonic() + 60)  # a write may be tried after each
    first.release()
    mine.wait(monotonic() + 60, tries=1)
    assert not first.acquire(0.05)  # it is mine, and not given back in between
    mine.wait(monotonic() + 60, tries=1_000_000)  # at the front, after a very long time
    mine.leave()
    calls = Calls(monkeypatch)
    mine.enter(monotonic() + 60)
    assert calls.count == 0
    mine.leave()
    assert first.acquire(1)
    for queue in (first, mine):
        queue.close()
