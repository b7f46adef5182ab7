"""Rows 89 and 91 of the promise ledger: a session is said to be over, or not; what is over and old can be deleted.

Row 89 at the command line, where one command does it all, is in tests/cli/test_promises_cli.py."""

from __future__ import annotations

import random

import pytest

import palaver

from ..tools.planting import broken_by
from ..tools.sql import query

NOW, DAY = 1_800_000_000_000, 86_400_000
ENDED = "SELECT ended_at, end_reason FROM heads WHERE session_id = ?"


class Clock:
    """Stands still, where it was turned to."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.at = NOW
        patch.setattr("palaver.base.clock._now_ns", lambda: self.at * 1_000_000)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


# ---------------------------------------------------------------- 89: only what ended, and is old


def prune(store: palaver.Store, clock: Clock, days: int, source: str | None = None) -> int:
    """As an application writes it: of what is listed, each is deleted."""
    since = clock.at - days * DAY
    found = store.sessions.list(ended=True, idle_since=since, source=source, archived=True, order="created")
    return sum(store.sessions.get(info.id).delete() for info in found)


@broken_by("lists_forget_who_ended", "the_very_day_is_older")
def test_promise_089_only_what_ended_before_so_many_days_is_deleted(store: palaver.Store, clock: Clock) -> None:
    dice = random.Random(89)
    kept: dict[str, tuple[int, bool, str]] = {}  # last said, ended, source
    for _ in range(120):
        ago = dice.choice((90 * DAY - 1, 90 * DAY, 90 * DAY + 1, DAY, 91 * DAY, 300 * DAY))
        clock.at = NOW - ago - dice.choice((0, 0, DAY))
        source, ended = dice.choice(("slack", "api")), dice.random() < 0.6
        session = store.sessions.create("a", source=source)
        clock.at = NOW - ago
        if dice.random() < 0.8:
            session.commit("hello")
        said = session.info.last_message_at or session.info.created_at
        clock.at = NOW
        if ended:
            session.end()
        if dice.random() < 0.2:
            session.archive()
        kept[session.id] = (said, ended, source)
    for days, source in ((200, "slack"), (90, "slack"), (90, None)):
        gone = {
            name
            for name, (said, ended, where) in kept.items()
            if ended and said < NOW - days * DAY and source in (None, where)
        }
        assert gone and prune(store, clock, days, source) == len(gone)
        kept = {name: told for name, told in kept.items() if name not in gone}
        assert {info.id for info in store.sessions.list(archived=True)} == set(kept)
    assert prune(store, clock, 90) == 0


def test_promise_089_the_boundary_day_is_kept(store: palaver.Store, clock: Clock) -> None:
    for title, ago in (("older", 90 * DAY + 1), ("exact", 90 * DAY), ("younger", 90 * DAY - 1)):
        clock.at = NOW - ago
        store.sessions.create("a", title=title).commit("hello")
        store.sessions.by_title(title).end()
    clock.at = NOW
    assert prune(store, clock, 90) == 1
    assert [info.title for info in store.sessions.list(order="created")] == ["younger", "exact"]
    clock.at = NOW + 1
    assert prune(store, clock, 90) == 1
    assert [info.title for info in store.sessions.list()] == ["younger"]


# ---------------------------------------------------------------- 91: it ends, and is reopened


def test_promise_091_end_and_reopen_set_and_clear_when_and_why(store: palaver.Store, clock: Clock) -> None:
    session = store.sessions.create("a")
    assert query(store.path, ENDED, session.id) == [(None, None)]
    clock.at = NOW + 5
    session.end("the ticket is closed")
    assert query(store.path, ENDED, session.id) == [(NOW + 5, "the ticket is closed")]
    assert (session.info.ended_at, session.info.end_reason) == (NOW + 5, "the ticket is closed")
    clock.at = NOW + 9
    session.reopen()
    assert query(store.path, ENDED, session.id) == [(None, None)]
    assert (session.info.ended_at, session.info.end_reason) == (None, None)
    session.end()
    assert query(store.path, ENDED, session.id) == [(NOW + 9, None)]


def test_promise_091_it_ends_once_and_the_first_reason_stays(store: palaver.Store, clock: Clock) -> None:
    session = store.sessions.create("a")
    session.end("done")
    clock.at = NOW + 5
    session.end("done")
    with pytest.raises(palaver.Refused):
        session.end("another reason")
    assert query(store.path, ENDED, session.id) == [(NOW, "done")]
    session.commit("one more thing")  # it is said to be over, not closed
    assert query(store.path, ENDED, session.id) == [(NOW, "done")]


def test_promise_091_another_process_reads_that_it_ended(path: str, clock: Clock) -> None:
    with palaver.open(path) as store:
        session = store.sessions.create("a")
        session.end("done")
    with palaver.open(path) as store:
        info = store.sessions.get(session.id).info
        assert (info.ended_at, info.end_reason) == (NOW, "done")
