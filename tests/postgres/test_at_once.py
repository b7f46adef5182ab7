"""Two processes ask for the same thing at the same moment: whoever has the session's lock first decides.

`slowly` stretches the moment between what a verb reads first and its lock, which on Postgres others may use."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

import palaver
from palaver.core import heads, rows

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


# ---------------------------------------------------------------- names

WELL_FORMED = "ses_0198f0c0ffee00abcdefABCDEF"


@pytest.fixture
def thinking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look whether a name is free and the commit there is a moment."""
    look = rows.holders_of_name

    class Thinking:
        def all(self, *given: Any, **named: Any) -> Any:
            found = look.all(*given, **named)
            time.sleep(0.05)
            return found

    monkeypatch.setattr(rows, "holders_of_name", Thinking())


def kinds(results: list[Any]) -> list[str]:
    return sorted(type(each).__name__ for each in results)


@pytest.mark.parametrize("name", ["mine", WELL_FORMED])
def test_of_an_id_and_an_alias_that_are_given_at_once_one_is_told(stores: Any, thinking: None, name: str) -> None:
    here, there = stores
    session = there.sessions.create("coder")
    results = together(lambda: here.sessions.create("coder", id=name), lambda: session.alias(name))
    assert kinds(results) in (["AliasTaken", "Session"], ["AliasTaken", "NoneType"])
    found = [each for each in results if isinstance(each, palaver.Session)] or [session]
    assert [here.sessions.find(name).id] == [each.id for each in found]


def test_of_two_who_give_a_name_in_two_namespaces_one_is_told(stores: Any, thinking: None) -> None:
    here, there = stores
    sessions = [here.sessions.create("coder"), there.sessions.create("coder")]
    results = together(lambda: sessions[0].alias("main"), lambda: sessions[1].alias("main", "slug"))
    assert kinds(results) == ["AliasTaken", "NoneType"]
    assert here.sessions.find("main").id == sessions[results.index(None)].id


@pytest.mark.parametrize("name", ["mine", WELL_FORMED])
def test_of_two_who_make_a_session_with_the_same_id_one_does(stores: Any, thinking: None, name: str) -> None:
    here, there = stores
    results = together(lambda: here.sessions.create(id=name), lambda: there.sessions.create(id=name))
    assert kinds(results) == ["Session", "SessionExists"]
    results = together(lambda: here.sessions.get_or_create("or"), lambda: there.sessions.get_or_create("or"))
    assert len({each.id for each in results}) == 1


def test_names_that_many_give_at_once_mean_one_session_each(stores: Any) -> None:
    """Nothing is stretched here."""
    here, there = stores
    sessions = [store.sessions.create("coder") for store in (here, there, here)]
    for number in range(8):
        jobs = [lambda each=each, n=number: each.alias(f"n{n}", each.id[-6:]) for each in sessions]
        jobs.append(lambda n=number: there.sessions.create(id=f"n{n}"))
        assert kinds(together(*jobs)).count("AliasTaken") == 3
        assert here.sessions.find(f"n{number}")
    left = [row for row in here.db.query("SELECT origin FROM foreign_ids WHERE origin <> 'client'")[1]]
    assert left == [] and here.verify() == []
