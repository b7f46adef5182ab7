"""Rows 66 and 68 of the promise ledger: a message says that it waits as long as it does; a trigger's envelope is kept.

What a row says is read by plain SQL, what is true by hand: a model of who waits, and processes killed between the two.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import palaver
from palaver import Session

from ..tools.planting import broken_by
from ..tools.sql import query
from .support_queue import claim_and_die, rows

# ---------------------------------------------------------------- 66: queued_at


@broken_by("a_queued_row_looks_like_any_other", "queued_at_stays_when_fired")
def test_promise_066_queued_at_is_there_while_queued_and_cleared_when_fired(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("a")
    queued = session.enqueue("later")
    assert rows(path, session.id) == {"later": (queued.queued_at, "pending")}
    turn = session.claim()
    assert turn is not None
    assert rows(path, session.id) == {"later": (None, "streaming")}
    turn.seal()
    assert rows(path, session.id) == {"later": (None, "completed")}


@broken_by("the_stamp_is_cleared_before_the_claim", "a_queued_row_looks_like_any_other")
def test_promise_066_who_dies_inside_a_claim_leaves_the_message_waiting(path: str) -> None:
    with palaver.open(path) as store:
        session = store.sessions.create("a")
        queued = session.enqueue("later")
    claim_and_die(path, session.id, "inside")
    assert rows(path, session.id) == {"later": (queued.queued_at, "pending")}
    with palaver.open(path) as store:
        assert store.sessions.get(session.id).queue() == [queued]
        assert store.verify() == []


@broken_by("queued_at_stays_when_fired", "what_is_given_back_does_not_say_that_it_waits")
def test_promise_066_who_dies_after_a_claim_has_fired_it_until_somebody_gives_it_back(path: str) -> None:
    with palaver.open(path) as store:
        session = store.sessions.create("a")
        queued = session.enqueue("later")
    claim_and_die(path, session.id, "after")
    assert rows(path, session.id) == {"later": (None, "streaming")}
    with palaver.open(path) as store:  # recovery: nothing had come, so it waits again, and says so
        assert rows(path, session.id) == {"later": (queued.queued_at, "pending")}
        assert store.verify() == []
    claim_and_die(path, session.id, "after")
    with palaver.open(path) as store:  # the second time it counts as fired
        assert rows(path, session.id) == {"later": (None, "aborted")}
        assert store.verify() == []


class Line:
    """Who waits, by hand."""

    def __init__(self, store: palaver.Store, session: Session) -> None:
        self.store = store
        self.session = session
        self.waits: dict[str, int] = {}  # text → queued_at, in order
        self.failed: set[str] = set()
        self.count = 0

    def enqueue(self) -> None:
        text = f"message {self.count}"
        self.count += 1
        self.waits[text] = self.session.enqueue(text, id=text).queued_at

    def cancel(self, chance: random.Random) -> None:
        if self.waits:
            text = chance.choice(list(self.waits))
            assert self.session.cancel(text)
            del self.waits[text]

    def fire(self) -> None:
        turn = self.session.claim()
        assert (turn is None) == (not self.waits)
        if turn is not None:
            with turn:
                turn.write({"type": "start"})
            del self.waits[next(iter(self.waits))]

    def fail(self) -> None:
        turn = self.session.claim()
        if turn is None:
            return
        with pytest.raises(ZeroDivisionError), turn:
            raise ZeroDivisionError
        first = next(iter(self.waits))
        if first in self.failed:
            del self.waits[first]
        self.failed.add(first)

    def commit(self) -> None:
        self.session.commit(f"said {self.count}")
        self.count += 1

    def reopen(self) -> None:
        path, session_id = self.store.path, self.session.id
        self.store.close()
        self.store = palaver.open(path)
        self.session = self.store.sessions.get(session_id)

    def step(self, chance: random.Random) -> None:
        verbs: list[Any] = [self.enqueue, self.enqueue, lambda: self.cancel(chance), self.fire, self.fail, self.commit]
        chance.choices([*verbs, self.reopen], [5, 5, 3, 4, 4, 2, 1])[0]()


def run_model(path: str, seed: int, steps: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    store = palaver.open(path)
    line = Line(store, store.sessions.create("a"))
    for _ in range(steps):
        line.step(chance)
        said = rows(path, line.session.id)
        assert {text: at for text, (at, _) in said.items() if at is not None} == line.waits
        assert {text for text, (_, status) in said.items() if status == "pending"} == set(line.waits)
        assert [queued.id for queued in line.session.queue()] == list(line.waits)
    assert line.store.verify() == []
    line.store.close()


@broken_by(
    "a_queued_row_looks_like_any_other", "queued_at_stays_when_fired", "what_is_given_back_does_not_say_that_it_waits"
)
def test_promise_066_the_stamp_agrees_with_a_model_of_who_waits(path: str) -> None:
    run_model(path, random.randrange(2**32), 60)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_promise_066_the_stamp_agrees_with_a_model_of_who_waits_for_long(path: str, seed: int) -> None:
    run_model(path, seed, 1_000)


# ---------------------------------------------------------------- 68: trigger


ENVELOPE = {
    "source": "webhook",
    "fired_at": 1_790_000_000_000,
    "schedule_id": "nightly",
    "delivery_id": "d-1",
    "headers": {"X-Event": "push", "odd": [1.10, None, "\u0000", "é"]},
    "auth_subject": "svc@example.com",
    "beyond": {"the": "list"},
}
TRIGGERS = "SELECT json_extract(metadata_json, '$.trigger') FROM chat_messages WHERE role = 'user' AND session_id = ?"


def kept(path: str, session: Session) -> Any:
    ((text,),) = query(path, TRIGGERS, session.id)
    return None if text is None else json.loads(text)


@pytest.mark.parametrize("verb", ["turn", "commit", "enqueue"])
@broken_by("the_trigger_is_not_in_the_message")
def test_promise_068_the_envelope_is_in_the_message_of_every_verb(store: palaver.Store, path: str, verb: str) -> None:
    session = store.sessions.create("a")
    getattr(session, verb)("a push came", trigger=ENVELOPE)
    assert kept(path, session) == ENVELOPE


@broken_by("firing_drops_the_trigger", "the_trigger_is_not_in_the_message")
def test_promise_068_the_envelope_of_a_queued_message_is_kept_when_it_is_fired(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("a")
    session.enqueue({"role": "user", "content": "a push came", "metadata": {"tone": "dry"}}, trigger=ENVELOPE)
    turn = session.claim()
    assert turn is not None and kept(path, session) == ENVELOPE
    turn.give_back()
    assert kept(path, session) == ENVELOPE
    turn = session.claim()
    assert turn is not None
    turn.write({"type": "start"})
    turn.seal()
    assert kept(path, session) == ENVELOPE
    assert session.messages()[0]["metadata"] == {"tone": "dry", "trigger": ENVELOPE}
    store.close()
    with palaver.open(path) as again:
        assert again.sessions.get(session.id).messages()[0]["metadata"]["trigger"] == ENVELOPE
        assert again.verify() == []


def test_promise_068_what_a_person_says_has_no_envelope(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("a")
    session.commit("I say")
    assert kept(path, session) is None


def test_promise_068_a_message_cannot_hide_the_envelope_behind_its_own_trigger_key(
    store: palaver.Store, path: str
) -> None:
    session = store.sessions.create("a")
    message = {"role": "user", "content": "a push came", "metadata": {"trigger": {"source": "another"}}}
    try:
        session.commit(message, trigger=ENVELOPE)
    except palaver.BadValue:
        assert session.messages() == [] and query(path, "SELECT count(*) FROM deliveries") == [(0,)]
    else:
        assert kept(path, session) == ENVELOPE
