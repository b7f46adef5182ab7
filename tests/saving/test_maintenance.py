"""The maintenance thread: it comes with the first turn, goes with the store, and gives up on nothing."""

from __future__ import annotations

import gc
import logging
import subprocess
import sys
import threading
import weakref
from contextlib import closing
from typing import Any

import apsw
import pytest

import palaver
from palaver.background.background import Background

from ..tools.chunks import delta
from ..tools.sql import one, query
from ..tools.waiting import in_threads, until
from .disk import Disk
from .puppet import CREW
from .support import NEVER, START, maintainers, stored, text_of

CHUNKS = "SELECT count(*) FROM events WHERE kind = 'chunk'"


@pytest.fixture
def others() -> set[threading.Thread]:
    """Maintenance threads of stores that other tests left behind."""
    return set(maintainers())


def ours(others: set[threading.Thread]) -> list[threading.Thread]:
    return [thread for thread in maintainers() if thread not in others]


# ---------------------------------------------------------------- its life


def test_a_store_that_only_reads_needs_no_thread(path: str, others: set[threading.Thread]) -> None:
    with palaver.open(path, trim_after=0) as store:
        session_id = store.sessions.create("a").commit("said at once").session_id
    with palaver.open(path, trim_after=0, recover_every=0.01) as store:
        session = store.sessions.get(session_id)
        assert len(list(session.follow(after=0, timeout=0.1))) == len(session.events())
        assert len(store.search("said")) == len(session.messages()) == 1
        assert ours(others) == []
        session.commit("what is sealed is indexed")
        assert len(ours(others)) == 1


def test_it_comes_with_the_first_turn_and_goes_with_the_store(path: str, others: set[threading.Thread]) -> None:
    store = palaver.open(path)
    turns = [store.sessions.create("a").turn("hello") for _ in range(3)]
    (thread,) = ours(others)
    turns[0].seal()
    store.close()
    assert not thread.is_alive() and ours(others) == []
    store.close()


def test_every_store_has_its_own(path: str, others: set[threading.Thread]) -> None:
    with palaver.open(path) as first, palaver.open(path) as second:
        for store in (first, second):
            store.sessions.create("a").turn("hello").seal()
        assert len(ours(others)) == 2
        first.close()
        assert len(ours(others)) == 1
    assert ours(others) == []


def test_it_does_not_keep_a_store_alive_that_nobody_holds(path: str, others: set[threading.Thread]) -> None:
    store = palaver.open(path, recover_every=0.02)
    store.sessions.create("a").turn("hello").append(START)
    seen = weakref.ref(store)
    del store

    def is_gone() -> bool:
        gc.collect()
        return seen() is None and ours(others) == []

    until(is_gone, "the store is gone, and its thread")


def test_of_two_threads_that_close_a_store_the_second_waits_for_the_first(path: str) -> None:
    store = palaver.open(path)
    turns = [store.sessions.create("a").turn("hello") for _ in range(50)]
    in_threads(lambda _: store.close(), range(2))
    assert [turn.status for turn in turns] == ["aborted"] * 50
    assert query(path, "SELECT status, count(*) FROM turns GROUP BY status") == [("aborted", 50)]


def test_interrupted_while_it_waits_for_the_thread_a_store_is_closed_all_the_same(path: str) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    store = palaver.open(path)
    turn = store.sessions.create("a").turn("hello")
    store._background.maintenance.end = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        store.close()
    assert one(path, "SELECT status FROM turns WHERE id = ?", turn.id) == "aborted"
    with pytest.raises(palaver.StoreClosed):
        store.sessions.create("b")


# ---------------------------------------------------------------- recovery


def test_a_dead_writers_turn_is_sealed_by_a_store_that_does_nothing_else(path: str) -> None:
    with palaver.open(path, recover_every=0.05) as store:
        mine = store.sessions.create("a").turn("a turn of ours that goes on and on")
        with CREW.start("act", path=path) as writer:
            session_id, turn_id = writer("begin_anew")
            writer("call", turn_id, "append", [*START, delta("half")])
            writer.kill()
        status = "SELECT status FROM turns WHERE id = ?"
        until(lambda: one(path, status, turn_id) == "aborted", "the dead writer's turn is sealed")
        assert text_of(store.sessions.get(session_id)) == "half"
        assert one(path, status, mine.id) == "streaming"


def test_a_living_writers_turn_is_left_alone(path: str) -> None:
    with palaver.open(path, recover_every=0.01) as store, CREW.start("act", path=path) as writer:
        _, turn_id = writer("begin_anew")
        dead = CREW.start("act", path=path)
        _, other_id = dead("begin_anew")
        dead.end()
        store.sessions.create("a").turn("hello").seal()
        until(lambda: one(path, "SELECT status FROM turns WHERE id = ?", other_id) == "aborted", "it looks")
        assert writer("call", turn_id, "append", START) == [2, 2]
        assert one(path, "SELECT status FROM turns WHERE id = ?", turn_id) == "streaming"


def test_the_chunks_of_a_turn_that_it_recovered_go_too(path: str) -> None:
    with palaver.open(path, recover_every=0.05, trim_after=0.05) as store:
        mine = store.sessions.create("a").turn("hello")
        with CREW.start("act", path=path) as writer:
            _, turn_id = writer("begin_anew")
            writer("call", turn_id, "append", START)
            writer.kill()
        until(lambda: one(path, CHUNKS) == 0, "the recovered turn is trimmed")
        assert mine.status == "streaming"


def test_the_chunks_of_a_turn_that_was_recovered_at_open_go_with_the_first_turn(path: str) -> None:
    with CREW.start("act", path=path) as writer:
        _, turn_id = writer("begin_anew")
        writer("call", turn_id, "append", START)
        writer.kill()
    with palaver.open(path, trim_after=0.2, recover_every=None) as store:
        assert query(path, "SELECT status FROM turns") == [("aborted",)]
        store.sessions.create("a").turn("hello")
        until(lambda: one(path, CHUNKS) == 0, "the recovered turn is trimmed")


# ---------------------------------------------------------------- what goes wrong


def test_a_trim_that_fails_is_logged_and_made_later(disk: Disk, path: str, caplog: pytest.LogCaptureFixture) -> None:
    with palaver.open(path, trim_after=0.05) as store, caplog.at_level(logging.WARNING, "palaver"):
        with store.sessions.create("a").turn("hello") as turn:
            turn.append(START)
        disk.full = True
        until(lambda: caplog.records, "the failure is logged")
        disk.full = False
        assert "full" in caplog.records[0].getMessage()
        until(lambda: one(path, CHUNKS) == 0, "it is tried again")


@pytest.mark.parametrize("error", [OSError(24, "Too many open files"), RuntimeError("what?"), palaver.StoreError("no")])
def test_no_error_ends_the_thread(
    path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    failures, recover = [error], Background.recover

    def now_and_then(background: Background) -> int:
        if failures and threading.current_thread().name == "palaver-maintenance":
            raise failures.pop()
        return recover(background)

    monkeypatch.setattr(Background, "recover", now_and_then)
    with palaver.open(path, recover_every=0.02) as store, caplog.at_level(logging.WARNING, "palaver"):
        store.sessions.create("a").turn("hello")
        with CREW.start("act", path=path) as writer:
            _, turn_id = writer("begin_anew")
            writer.kill()
        until(lambda: one(path, "SELECT status FROM turns WHERE id = ?", turn_id) == "aborted", "it recovers after all")
        assert str(error) in caplog.text


def test_a_turn_that_cannot_be_written_does_not_keep_others_from_being_saved(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = palaver.open(path, save_on="turn", save_buffer_ms=30, trim_after=NEVER)
    broken, fine = store.sessions.create("a"), store.sessions.create("b")
    turns = [broken.turn("hello"), fine.turn("hello")]
    with closing(apsw.Connection(path)) as other:
        other.set_busy_timeout(10_000)
        other.execute("PRAGMA foreign_keys = ON; DELETE FROM chat_sessions WHERE id = ?", (broken.id,))
    with caplog.at_level(logging.WARNING, "palaver"):
        for turn in turns:
            turn.append(START)
        until(lambda: stored(path) == START, "the other turn is saved")
        until(lambda: broken.id in caplog.text, "it is said what is wrong")
    assert [(turn.chunks, turn.stored) for turn in turns] == [(2, 0), (2, 2)]
    with pytest.raises(palaver.SessionNotFound):
        store.close()
    assert query(path, "SELECT status FROM turns WHERE session_id = ?", fine.id) == [("aborted",)]


def test_what_is_held_is_saved_in_time_although_a_trim_goes_on_and_on(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two slices of a trim there is time for a stream that stalled."""
    from palaver.core.upkeep import trimming

    done, trim_some = threading.Event(), trimming.trim_some

    def slowly(tx: Any, turns: Any) -> int:
        done.wait(0.02)
        return 1 if not done.is_set() else trim_some(tx, turns)

    with palaver.open(path, save_on="turn", save_buffer_ms=50, trim_after=0) as store:
        monkeypatch.setattr(trimming, "trim_some", slowly)
        with store.sessions.create("a").turn("hello") as turn:
            turn.append(START)
        held = store.sessions.create("b").turn("hello")
        held.append([*START, delta("stalled")])
        try:
            until(lambda: held.stored == 3, "the held chunks are saved while the trim goes on")
        finally:
            done.set()


NEVER_CLOSED = """
import sys, time
from palaver.background.maintenance import Worker

class Busy:
    def due(self, now): return 0.0
    def run(self): pass

sys.setswitchinterval(1e-5)  # the thread is stopped in the middle of anything
worker = Worker([Busy()])
worker.wake()
time.sleep(0.005)
"""


def test_a_program_that_does_not_close_its_store_ends() -> None:
    """It hung at its end, now and then: the thread stood still with a lock that the end of the program waited for."""
    for _ in range(8):
        subprocess.run([sys.executable, "-c", NEVER_CLOSED], timeout=20, check=True)
