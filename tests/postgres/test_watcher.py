"""Followers of a space share one connection that listens; if it is lost they go on, and soon listen again."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

import palaver
from palaver.db.postgres.engine import PostgresDatabase
from palaver.db.postgres.watch import Watch

MANY = 100
PATIENCE = 30.0
OURS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'palaver'"
LISTENING = OURS + " AND query LIKE '%pg_current_snapshot()%'"
on_a_quiet_server = pytest.mark.usefixtures("ours")  # a snapshot is of all databases


def until(holds: Callable[[], Any], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, f"it never was so: {what}"
        time.sleep(0.01)


class Crowd:
    """Threads that follow, each to the first event it gets, or to an error."""

    def __init__(self, session: palaver.Session, count: int) -> None:
        self.heard: list[object] = []
        self._threads = [threading.Thread(target=self._follow, args=(session,), daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()
        watcher = session._store._background.watcher
        until(lambda: len(watcher._followers) == count and watcher._watch is not None, "they wait")

    def _follow(self, session: palaver.Session) -> None:
        try:
            self.heard.append(next(session.follow(timeout=PATIENCE)).kind)
        except Exception as error:
            self.heard.append(type(error).__name__)

    def join(self) -> list[object]:
        for thread in self._threads:
            thread.join(2 * PATIENCE)
        return self.heard


def pids(dsn: str, text: str = LISTENING) -> list[int]:
    with psycopg.connect(dsn, autocommit=True) as server:
        return [pid for (pid,) in server.execute(text.encode()).fetchall()]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the watcher asked for the server's snapshot, and anybody for a transaction that reads."""
    calls: Counter[str] = Counter()
    for owner, name in ((Watch, "_snapshot"), (PostgresDatabase, "read")):
        monkeypatch.setattr(owner, name, _counting(calls, getattr(owner, name)))
    return calls


def _counting(calls: Counter[str], work: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def counted(self: Any) -> Any:
        calls[work.__name__] += 1
        return work(self)

    return counted


@on_a_quiet_server
def test_a_hundred_followers_listen_on_one_connection_and_idle_they_read_nothing(dsn: str, looks: Counter[str]) -> None:
    with palaver.open(dsn) as store:
        session = store.sessions.create("a")
        crowd = Crowd(session, MANY)
        until(lambda: len(pids(dsn)) == 1, "one of our connections listens")
        until(lambda: looks["_snapshot"] >= 4, "each has looked once more")
        settled, reads = looks["_snapshot"], looks["read"]
        until(lambda: looks["_snapshot"] >= settled + 3, "the watcher looks again and again")
        assert looks["read"] - reads <= 3  # none at all, unless another database of the server is at work
        assert len(pids(dsn, OURS)) <= 1 + 8  # and what the pool keeps for transactions
        session.title = "news"
        assert crowd.join() == ["title"] * MANY
    until(lambda: not pids(dsn), "its connection is gone with the store")


@on_a_quiet_server
def test_behind_a_pooler_one_looks_for_all(dsn: str, looks: Counter[str]) -> None:
    with palaver.open(dsn, pooler=True) as store:
        session = store.sessions.create("a")
        crowd = Crowd(session, 20)
        until(lambda: looks["_snapshot"] >= 40, "the watcher looks")
        settled = looks["read"] - looks["_snapshot"]  # its own looks are transactions, too
        before = looks["_snapshot"]
        until(lambda: looks["_snapshot"] >= before + 40, "again and again")
        assert looks["read"] - looks["_snapshot"] <= settled + 3  # not one for each of twenty
        session.title = "news"
        assert crowd.join() == ["title"] * 20


def test_followers_go_on_when_the_connection_that_listens_is_killed(dsn: str) -> None:
    with palaver.open(dsn) as store:
        session = store.sessions.create("a")
        crowd = Crowd(session, 5)
        until(lambda: len(pids(dsn)) == 1, "one listens")
        (victim,) = pids(dsn)
        with psycopg.connect(dsn, autocommit=True) as server:
            server.execute("SELECT pg_terminate_backend(%s::int, 10000)", (victim,))
        until(lambda: len(pids(dsn)) == 1 and pids(dsn) != [victim], "another listens")
        session.title = "news"
        assert crowd.join() == ["title"] * 5


def test_where_no_connection_can_be_had_to_listen_on_followers_look(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(watch: Watch) -> None:
        raise palaver.StoreUnavailable("sorry, too many clients already")

    monkeypatch.setattr(Watch, "_listen", full)
    with palaver.open(dsn) as store:
        session, heard = store.sessions.create("a"), list[str]()

        def follow() -> None:
            heard.append(next(session.follow(timeout=PATIENCE)).kind)

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        until(lambda: store._background.watcher._failures > 2, "it was tried again")
        session.title = "news"
        thread.join(PATIENCE)
        assert heard == ["title"]


def test_close_ends_all_followers_of_a_space(dsn: str) -> None:
    with palaver.open(dsn) as store:
        crowd = Crowd(store.sessions.create("a"), 10)
    assert crowd.join() == ["StoreClosed"] * 10


def test_a_commit_without_a_hint_is_found_by_looking(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the last chunk of a burst, or one from another node."""
    monkeypatch.setattr(Watch, "_is_notified", lambda self, seconds: self._db.pool.nap(seconds))
    with palaver.open(dsn) as store:
        session = store.sessions.create("a")
        crowd = Crowd(session, 3)
        session.title = "news"
        assert crowd.join() == ["title"] * 3
