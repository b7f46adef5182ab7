"""Two processes ask for the same thing at the same moment: whoever has the session's lock first decides.

`slowly` stretches the moment between what a verb reads first and its lock, which on Postgres others may use."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

import palaver
from palaver.core import heads

from ..tools.waiting import together


@pytest.fixture
def stores(dsn: str) -> Iterator[tuple[palaver.Store, palaver.Store]]:
    with palaver.open(dsn) as one, palaver.open(dsn) as other:
        yield one, other


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    lock = heads.lock

    def later(*given: Any, **named: Any) -> Any:
        time.sleep(0.05)
        return lock(*given, **named)

    monkeypatch.setattr(heads, "lock", later)


def same(stores: tuple[palaver.Store, palaver.Store]) -> tuple[palaver.Session, palaver.Session]:
    one, other = stores
    session = one.sessions.create("coder")
    return session, other.sessions.get(session.id)


def test_of_two_who_claim_one_gets_the_message(stores: Any, slowly: None) -> None:
    here, there = same(stores)
    here.enqueue("do it", id="q1")
    claimed = [turn for turn in together(here.claim, there.claim) if turn is not None]
    assert len(claimed) == 1
    (turn,) = claimed
    turn.write({"type": "text-start", "id": "1"})
    turn.seal()
    assert [message["role"] for message in here.messages()] == ["user", "assistant"]


def test_a_message_that_is_claimed_meanwhile_is_not_cancelled_under_its_turn(stores: Any, slowly: None) -> None:
    here, there = same(stores)
    here.enqueue("do it", id="q1")
    turn, cancelled = together(here.claim, lambda: there.cancel("q1"))
    if cancelled is True:
        assert turn is None
        return
    assert isinstance(cancelled, palaver.MessageFired)
    turn.write({"type": "text-start", "id": "1"})
    turn.seal()
    assert turn.status == "completed"


def test_rules_that_are_added_at_once_are_all_kept(stores: Any, slowly: None) -> None:
    here, there = same(stores)
    together(
        lambda: here.permissions.add("bash", "rm *", "deny"), lambda: there.permissions.add("bash", "git *", "allow")
    )
    assert {rule["pattern"] for rule in here.permissions.list()} == {"rm *", "git *"}


def test_the_same_message_that_is_sent_twice_at_once_is_one(stores: Any, slowly: None) -> None:
    here, there = same(stores)
    sent = together(lambda: here.enqueue("do it", id="q1"), lambda: there.enqueue("do it", id="q1"))
    assert [queued.id for queued in sent] == ["q1", "q1"]
    assert len(here.queue()) == 1
