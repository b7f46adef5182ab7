"""Ctrl-C may come in any system call of a write: nothing stays locked, for this process or for others.

Python raises a signal right behind the call during which it came; `fcntl.flock` is where a writer waits for others.
"""

from __future__ import annotations

import fcntl
import os
import signal
import threading
from collections import Counter
from typing import Any

import apsw
import pytest

import palaver
from palaver.db.sqlite.transactions import Write

from ..tools.sql import one, query
from ..tools.waiting import together, until
from .disk import Disk
from .puppet import CREW, whole
from .support import PATIENCE


class Flock:
    """The system call, with a signal that comes during the n-th call from now on."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.left = -1
        self._main = threading.current_thread()
        patch.setattr("palaver.db.sqlite.writers_line.fcntl", self)

    def __getattr__(self, name: str) -> Any:
        return getattr(fcntl, name)

    def flock(self, fd: int, operation: int) -> None:
        fcntl.flock(fd, operation)
        if threading.current_thread() is self._main:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt


def is_free(path: str) -> bool:
    """Whether another process could have the queue at once."""
    fd = os.open(path + "-queue", os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True


def commit(session: palaver.Session) -> None:
    session.commit("hello")


def stream(session: palaver.Session) -> None:
    session.turn("hello").write({"type": "start-step"})


@pytest.mark.parametrize("call", [1, 2, 3, 4])
@pytest.mark.parametrize("verb", [commit, stream])
def test_ctrl_c_in_any_call_of_the_queue_leaves_it_free(
    path: str, monkeypatch: pytest.MonkeyPatch, verb: Any, call: int
) -> None:
    monkeypatch.setattr("palaver.db.sqlite.writers_line._SLICE", 0.0)  # every write stands in line
    store = palaver.open(path, timeout=0.5)  # closed only if all is well: else that might wait for ever
    session = store.sessions.create("a")
    session.turn("the first, which signs in").seal()
    flock = Flock(monkeypatch)
    flock.left = call
    try:
        verb(session)
    except KeyboardInterrupt:
        pass
    flock.left = -1
    assert is_free(path)
    session.commit("afterwards")
    assert session.messages()[-1]["parts"][0]["text"] == "afterwards"
    assert is_free(path)
    store.close()


def test_ctrl_c_while_another_process_has_the_lock_gives_up_the_place_in_line(path: str) -> None:
    with palaver.open(path) as store:
        session = store.sessions.create("a")
        holder = os.open(path + "-queue", os.O_RDWR)
        fcntl.flock(holder, fcntl.LOCK_EX)
        writing = apsw.Connection(path)
        writing.execute("BEGIN IMMEDIATE")
        alarm = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        alarm.start()
        with pytest.raises(KeyboardInterrupt):
            session.commit("never said")
        os.close(holder)
        writing.execute("ROLLBACK")
        writing.close()
        until(lambda: is_free(path), "nobody stands in line any more")
        session.commit("said")
        assert [message["parts"][0]["text"] for message in session.messages()] == ["said"]


def test_a_member_of_a_group_that_is_interrupted_leaves_the_others_their_commit(disk: Disk, path: str) -> None:
    with palaver.open(path, durability="full", timeout=5) as store:
        sessions = [store.sessions.create("a") for _ in range(8)]
        disk.sync_seconds = 0.003
        told: list[str] = []
        main, rounds = threading.current_thread(), 6

        def work(me: int) -> None:
            for number in range(rounds):
                sessions[me].commit(whole(f"{me}:{number}"))
                told.append(f"{me}:{number}")

        def interrupt() -> None:
            """The commit that this thread makes for its group is cut off, once in a while."""
            if threading.current_thread() is main and disk.syncs % 3 == 0:
                raise KeyboardInterrupt

        disk.before_sync = interrupt
        threads = [threading.Thread(target=refused_or_told, args=(work, me)) for me in range(1, 8)]
        for thread in threads:
            thread.start()
        for number in range(rounds):
            try:
                sessions[0].commit(whole(f"0:{number}"))
                told.append(f"0:{number}")
            except (KeyboardInterrupt, palaver.StoreError):
                pass
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a member waits for ever"
        disk.before_sync = None
        sessions[0].commit(whole("afterwards"))
        kept = query(path, "SELECT data_json ->> 'text' FROM chat_parts WHERE type = 'text'")
        count = Counter(text.partition("/")[0] for (text,) in kept)
        assert [who for who in [*told, "afterwards"] if count[who] != 3] == []
        assert set(count.values()) == {3} and store.verify() == []


def refused_or_told(work: Any, me: int) -> None:
    """A commit that was cut off is refused to all its members; then this thread is done."""
    try:
        work(me)
    except palaver.StoreError:
        pass


@pytest.mark.parametrize("rounds", [12, pytest.param(400, marks=pytest.mark.long)])
def test_a_process_that_gets_signals_all_the_time_goes_on_writing(path: str, rounds: int) -> None:
    with CREW.start("interrupted", path=path, rounds=rounds) as puppet:
        told = puppet.wait()
    assert told[-1] == "closed"
    assert one(path, "SELECT count(*) FROM chat_parts WHERE data_json ->> 'text' LIKE 'after %'") == rounds
    with palaver.open(path, timeout=1) as store:
        assert store.verify() == []


def test_two_stores_of_a_process_do_not_wait_for_each_other_after_an_interrupt(path: str, disk: Disk) -> None:
    with palaver.open(path, timeout=2) as first, palaver.open(path, timeout=2) as second:
        session = first.sessions.create("a")
        armed = [True]

        def interrupt() -> None:
            if armed and threading.current_thread() is threading.main_thread():
                armed.clear()
                raise KeyboardInterrupt

        disk.before_sync = interrupt
        with pytest.raises((KeyboardInterrupt, palaver.StoreError)):
            session.commit("cut off")
        disk.before_sync = None
        other = second.sessions.get(session.id)
        assert together(lambda: other.commit("one").status, lambda: session.commit("two").status) == ["completed"] * 2
        assert sorted(m["parts"][0]["text"] for m in session.messages()) == ["one", "two"]


def test_a_transaction_whose_end_a_signal_kept_from_running_locks_nobody_out(
    store: palaver.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal may come between two instructions: after the block, before the first one of what ends it."""
    session = store.sessions.create("a")
    with monkeypatch.context() as patched:

        def cut_off(*_: object) -> None:
            raise KeyboardInterrupt

        patched.setattr(Write, "__exit__", cut_off)
        with pytest.raises(KeyboardInterrupt) as kept:
            session.commit("cut off")
    session.commit("after it")  # while the traceback holds everything that was there
    assert kept.value.__traceback__ is not None
    assert [message["parts"][0]["text"] for message in session.messages()] == ["after it"]
    assert store.verify() == []
