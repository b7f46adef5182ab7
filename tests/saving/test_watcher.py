"""Many who follow one store share one watch: it comes with the first, wakes whom it must, and outlives its failures."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import palaver
from palaver.background.watcher import Subscription, Watcher
from palaver.core.read import events
from palaver.db.sqlite.watch import Watch

from ..tools.chunks import delta
from ..tools.planting import broken_by
from ..tools.puppet import in_a_fork
from ..tools.waiting import PATIENCE, until
from .support import NEVER, START, words

MANY = 100
WHERE = pytest.mark.parametrize("path", ["file", ":memory:"], indirect=True)


@pytest.fixture
def path(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    return ":memory:" if getattr(request, "param", "file") == ":memory:" else str(tmp_path / "talks.db")


@pytest.fixture
def store(path: str) -> Iterator[palaver.Store]:
    with palaver.open(path, trim_after=NEVER) as opened:
        yield opened


@pytest.fixture
def watches(store: palaver.Store, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the engine was asked for a watch."""
    return counted(monkeypatch, type(store._engine), "watch")


def counted(patch: pytest.MonkeyPatch, owner: type, name: str, of: object = None) -> Counter[str]:
    """How often a method is called; `of` one object alone: stores of other tests may still look after their turns."""
    calls, really = Counter[str](), getattr(owner, name)

    def counting(self: Any) -> Any:
        calls[name] += of is None or self is of
        return really(self)

    patch.setattr(owner, name, counting)
    return calls


class Crowd:
    """Threads that follow, each to the first event it gets, or to an error."""

    def __init__(self, sessions: list[palaver.Session]) -> None:
        self.heard: list[object] = []
        self._threads = [threading.Thread(target=self._follow, args=(each,), daemon=True) for each in sessions]
        for thread in self._threads:
            thread.start()

    def _follow(self, session: palaver.Session) -> None:
        try:
            self.heard.append(next(session.follow(timeout=PATIENCE)).kind)
        except Exception as error:
            self.heard.append(type(error).__name__)

    def join(self) -> list[object]:
        for thread in self._threads:
            thread.join(2 * PATIENCE)
        return self.heard


def are_waiting(store: palaver.Store, count: int) -> None:
    until(lambda: len(store._background.watcher._followers) == count, f"{count} followers wait")
    until(lambda: store._background.watcher._watch is not None, "the engine is watched")


def watchers() -> int:
    return sum(thread.name == "palaver-watcher" for thread in threading.enumerate())


# ---------------------------------------------------------------- one for all


@WHERE
@broken_by("each_follower_has_a_watcher_of_its_own")
def test_a_hundred_followers_share_one_watch(store: palaver.Store, watches: Counter[str]) -> None:
    session = store.sessions.create("a")
    crowd = Crowd([session] * MANY)
    are_waiting(store, MANY)
    session.title = "news"
    assert crowd.join() == ["title"] * MANY
    assert watches == {"watch": 1}


@WHERE
def test_a_hundred_followers_of_an_idle_store_read_nothing(
    store: palaver.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = store.sessions.create("a")
    crowd = Crowd([session] * MANY)
    are_waiting(store, MANY)
    looks = counted(monkeypatch, Watch, "_version")
    quiet = counted(monkeypatch, type(store._engine), "read", of=store._engine)
    until(lambda: looks["_version"] >= 20, "the watcher looks at the file's version")
    settled = quiet["read"]
    until(lambda: looks["_version"] >= 40, "and again")
    assert quiet["read"] == settled
    session.title = "news"
    assert crowd.join() == ["title"] * MANY


@broken_by("everybody_is_woken_by_everything")
def test_who_follows_a_quiet_session_is_not_woken_by_a_busy_one(
    store: palaver.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet, busy = [store.sessions.create("q") for _ in range(20)], store.sessions.create("b")
    crowd, tells = Crowd(quiet), counted(monkeypatch, Watcher, "_tell")
    looks, since = Counter[str](), events.since

    def counting(tx: Any, session_id: str, cursor: int, limit: int) -> Any:
        looks[session_id] += 1
        return since(tx, session_id, cursor, limit)

    are_waiting(store, len(quiet))
    monkeypatch.setattr(events, "since", counting)
    turn = busy.turn("go")
    for chunk in [*START, *words(30)]:
        before = tells["_tell"]
        turn.write(chunk)
        until(lambda before=before: tells["_tell"] > before, "the watcher heard of it")  # type: ignore[misc]
    assert all(looks[session.id] <= 3 for session in quiet)  # one to begin with, and one for the first that it heard of
    for session in quiet:
        session.title = "news"
    assert crowd.join() == ["title"] * len(quiet)


# ---------------------------------------------------------------- its life


def test_who_does_not_wait_needs_no_watcher(store: palaver.Store, watches: Counter[str]) -> None:
    session, before = store.sessions.create("a"), watchers()
    assert [event.kind for event in session.follow(after=0, timeout=0)] == ["create"]
    assert watches == {} and watchers() == before


@WHERE
@broken_by("a_follower_that_ends_stays_subscribed")
def test_a_follower_that_is_closed_is_forgotten_and_the_watcher_goes_with_the_last(store: palaver.Store) -> None:
    session, before = store.sessions.create("a"), watchers()
    followers = [session.follow(after=0) for _ in range(3)]
    for follower in followers:
        assert next(follower).kind == "create"
    crowd = Crowd([session] * 2)
    are_waiting(store, 2)
    for follower in followers:
        follower.close()  # type: ignore[attr-defined]
    session.title = "news"
    assert crowd.join() == ["title"] * 2
    until(lambda: not store._background.watcher._followers, "nobody is subscribed")
    until(lambda: watchers() == before, "the thread is gone")
    again = Crowd([session])
    are_waiting(store, 1)
    session.title = "more"
    assert again.join() == ["title"]


@WHERE
def test_close_ends_all_followers_and_the_watcher(store: palaver.Store) -> None:
    session, before = store.sessions.create("a"), watchers()
    crowd = Crowd([session] * 20)
    are_waiting(store, 20)
    store.close()
    assert watchers() == before
    assert crowd.join() == ["StoreClosed"] * 20


def test_a_file_that_was_followed_is_closed_whole(store: palaver.Store, tmp_path: Any) -> None:
    crowd = Crowd([store.sessions.create("a")] * 5)
    are_waiting(store, 5)
    store.close()
    crowd.join()
    assert not list(tmp_path.glob("*-wal"))  # the last connection took the log away


# ---------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize("error", [palaver.StoreUnavailable("the line is dead"), OSError("what?")])
@broken_by("a_watch_that_fails_ends_the_watcher")
def test_a_watch_that_dies_is_begun_again(
    store: palaver.Store, watches: Counter[str], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    session, failures, has_changed = store.sessions.create("a"), [error], Watch._has_changed

    def failing(watch: Watch) -> bool:
        if failures:
            raise failures.pop()
        return has_changed(watch)

    crowd = Crowd([session] * 5)
    are_waiting(store, 5)
    monkeypatch.setattr(Watch, "_has_changed", failing)
    until(lambda: watches["watch"] == 2, "the engine is watched again")
    session.title = "news"
    assert crowd.join() == ["title"] * 5


def test_without_any_watch_followers_look_for_themselves_and_it_is_said_once(
    store: palaver.Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(watch: Watch) -> Watch:
        raise palaver.StoreError("no watch today")

    monkeypatch.setattr(Watch, "__enter__", broken)
    session = store.sessions.create("a")
    with caplog.at_level(logging.WARNING, "palaver"):
        for text in ("one", "two", "three"):
            crowd = Crowd([session] * 3)
            until(
                lambda: len(store._background.watcher._followers) == 3 and store._background.watcher._failures > 2,
                "it is tried again",
            )
            session.title = text
            assert crowd.join() == ["title"] * 3
    assert sum("no watch today" in record.getMessage() for record in caplog.records) == 1


def test_a_forked_child_is_refused_although_the_parent_is_watching(store: palaver.Store) -> None:
    session, turn = store.sessions.create("a"), store.sessions.create("b").turn("hi")
    following = session.follow(after=0)
    assert next(following).kind == "create"
    crowd = Crowd([session] * 3)
    are_waiting(store, 3)

    def child() -> dict[str, str]:
        said = {}
        for name, work in {"begin": lambda: list(session.follow()), "go on": lambda: next(following)}.items():
            try:
                work()
            except Exception as error:
                said[name] = type(error).__name__
        following.close()  # type: ignore[attr-defined]
        store.close()
        return said

    assert in_a_fork(child) == {"begin": "StoreClosed", "go on": "StoreClosed"}
    turn.append([*START, delta("still here")])
    session.title = "news"
    assert crowd.join() == ["title"] * 3


def test_a_follower_whose_event_loop_is_closed_does_not_disturb_the_others(store: palaver.Store) -> None:
    session, loop = store.sessions.create("a"), asyncio.new_event_loop()
    gone = Subscription(store._background.watcher, session.id, lambda: loop.call_soon_threadsafe(print))
    loop.close()
    crowd = Crowd([session] * 2)
    are_waiting(store, 2)
    assert gone.begin()
    session.title = "news"
    assert crowd.join() == ["title"] * 2
    until(lambda: gone not in store._background.watcher._followers, "it is forgotten")
