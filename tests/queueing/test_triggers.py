"""Each delivery of a trigger begins one turn, whatever verb, session or process it comes to."""

from __future__ import annotations

from typing import Any

import pytest

import palaver
from palaver import BadValue, Session, TriggerConflict, TriggerFired

from ..tools.sql import query
from .support import CREW, answer, everything, fail, fire, refusal, said, waiting

VERBS = ("turn", "commit", "enqueue")
WEBHOOK = {"source": "webhook", "delivery_id": "d-1"}


def send(session: Session, verb: str, text: str, trigger: Any) -> str:
    """The turn that it began."""
    given = getattr(session, verb)(text, trigger=trigger)
    if verb == "turn":
        answer(given, "heard")
        given.seal()
    return str(given.turn_id if verb == "enqueue" else given.id)


@pytest.mark.parametrize("again", VERBS)
@pytest.mark.parametrize("first", VERBS)
def test_a_delivery_fires_once(store: palaver.Store, path: str, first: str, again: str) -> None:
    session, other = store.sessions.create("a"), store.sessions.create("b")
    turn = send(session, first, "a push came", WEBHOOK)
    before = everything(path)
    for talk in (session, other):
        refused = refusal(TriggerFired, send, talk, again, "a push came", WEBHOOK)
        assert vars(refused) == {"source": "webhook", "delivery_id": "d-1", "turn_id": turn}
    assert everything(path) == before
    assert store.verify() == []


@pytest.mark.parametrize("again", VERBS)
@pytest.mark.parametrize("first", VERBS)
def test_a_delivery_with_another_content_is_refused(store: palaver.Store, path: str, first: str, again: str) -> None:
    session, other = store.sessions.create("a"), store.sessions.create("b")
    turn = send(session, first, "a push came", WEBHOOK)
    before = everything(path)
    for talk in (session, other):
        refused = refusal(TriggerConflict, send, talk, again, "a pull came", WEBHOOK)
        assert refused.turn_id == turn  # type: ignore[attr-defined]
    assert everything(path) == before


def test_other_sources_and_other_deliveries_are_others(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    for source in ("webhook", "mcp", "Webhook"):
        for delivery in ("d-1", "d-2", "D-1"):
            session.commit(f"{source} {delivery}", trigger={"source": source, "delivery_id": delivery})
    assert len(session.messages()) == 9


def test_a_trigger_without_a_delivery_fires_as_often_as_it_comes(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("a")
    for _ in range(3):
        session.commit("tick", trigger={"source": "schedule"})
    assert said(session.messages()) == ["tick"] * 3
    assert query(path, "SELECT count(*) FROM deliveries") == [(0,)]


def test_the_envelope_may_differ_when_the_delivery_comes_again(store: palaver.Store) -> None:
    """A second sending has a time and headers of its own: what it says is what counts."""
    session = store.sessions.create("a")
    session.commit("a push came", trigger={**WEBHOOK, "fired_at": 1, "headers": {"try": "1"}})
    refusal(TriggerFired, session.commit, "a push came", trigger={**WEBHOOK, "fired_at": 2, "headers": {"try": "2"}})


def test_a_refused_begin_does_not_use_the_delivery_up(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("a")
    session.commit("before")
    for verb in (session.turn, session.commit):
        refusal(palaver.HeadConflict, verb, "a push came", expected=0, trigger=WEBHOOK)
    session.archive()
    for verb in (session.turn, session.commit, session.enqueue):
        refusal(palaver.SessionArchived, verb, "a push came", trigger=WEBHOOK)
    session.unarchive()
    assert query(path, "SELECT count(*) FROM deliveries") == [(0,)]
    assert send(session, "commit", "a push came", WEBHOOK)


@pytest.mark.parametrize("end", ["cancelled", "failed once", "fired"])
def test_a_queued_delivery_is_used_up_whatever_becomes_of_the_message(store: palaver.Store, end: str) -> None:
    session = store.sessions.create("a")
    queued = session.enqueue("a push came", id="m1", trigger=WEBHOOK)
    {"cancelled": lambda: session.cancel("m1"), "failed once": lambda: fail(session), "fired": lambda: fire(session)}[
        end
    ]()
    refused = refusal(TriggerFired, session.commit, "a push came", trigger=WEBHOOK)
    assert refused.turn_id == queued.turn_id  # type: ignore[attr-defined]
    assert store.verify() == []


def test_the_same_queued_message_with_its_delivery_is_the_same_message(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    first = session.enqueue("a push came", id="m1", trigger={**WEBHOOK, "fired_at": 5})
    assert session.enqueue("a push came", id="m1", trigger={**WEBHOOK, "fired_at": 5}) == first
    assert waiting(session) == ["m1"]


def test_a_delivery_survives_a_reopen(path: str) -> None:
    with palaver.open(path) as store:
        session = store.sessions.create("a")
        session.commit("a push came", trigger=WEBHOOK)
    with palaver.open(path) as store:
        refusal(TriggerFired, store.sessions.get(session.id).enqueue, "a push came", trigger=WEBHOOK)


@pytest.mark.parametrize("verb", ["edit", "regenerate", "claim"])
def test_no_other_verb_fires_a_delivery_twice(store: palaver.Store, path: str, verb: str) -> None:
    """Either it counts as a delivery, or a trigger is not taken there at all."""
    session = store.sessions.create("a")
    session.commit([{"id": "u", "role": "user", "content": "hi"}, {"id": "a", "role": "assistant", "content": "hello"}])
    session.enqueue("queued", id="m1")
    calls: dict[str, Any] = {
        "edit": lambda: session.edit("u", "hi there", trigger=WEBHOOK),
        "regenerate": lambda: session.regenerate("a", trigger=WEBHOOK),
        "claim": lambda: session.claim(trigger=WEBHOOK),
    }
    try:
        calls[verb]().seal()
    except BadValue:
        assert query(path, "SELECT count(*) FROM deliveries") == [(0,)]
    else:
        assert query(path, "SELECT count(*) FROM deliveries") == [(1,)]
        with pytest.raises((TriggerFired, TriggerConflict)):
            session.commit("queued", trigger=WEBHOOK)


BAD = [
    "webhook",
    [],
    7,
    {},
    {"source": ""},
    {"source": None},
    {"source": 7},
    {"source": "web\0hook"},
    {"source": "\ud800"},
    {"source": "w", "delivery_id": 7},
    {"source": "w", "delivery_id": ""},
    {"source": "w", "delivery_id": "a\0b"},
    {"source": "w", "schedule_id": ["x"]},
    {"source": "w", "auth_subject": {}},
    {"source": "w", "fired_at": "now"},
    {"source": "w", "fired_at": -1},
    {"source": "w", "fired_at": 1.5},
    {"source": "w", "fired_at": True},
    {"source": "w", "fired_at": None},
    {"source": "w", "headers": "none"},
    {"source": "w", "headers": None},
    {"source": "w", "x": float("nan")},
]


def test_a_bad_envelope_is_refused_and_nothing_changed(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("a")
    session.commit("before")
    before = everything(path)
    for bad in BAD:
        for verb in VERBS:
            with pytest.raises(BadValue):
                getattr(session, verb)("a push came", trigger=bad)
    assert everything(path) == before


def test_of_processes_that_get_the_same_deliveries_one_fires_each(path: str) -> None:
    ids = [f"d-{number}" for number in range(30)]
    with palaver.open(path) as store:
        sessions = [store.sessions.create(agent).id for agent in ("a", "b", "c")]
    reports = CREW.together(
        [
            {"job": "deliver", "path": path, "sessions": sessions, "ids": ids, "verb": verb, "seed": seed}
            for seed, verb in enumerate(VERBS)
        ]
    )
    for id in ids:
        assert sorted(report[id] for report in reports) == ["TriggerFired", "TriggerFired", "won"], id
    fired = query(path, "SELECT p.data_json ->> '$.text' FROM chat_parts p JOIN chat_messages m ON m.id = p.message_id "
                "WHERE m.role = 'user'")  # fmt: skip
    assert sorted(text for (text,) in fired) == sorted(f"delivery {id}" for id in ids)
    with palaver.open(path) as store:
        assert store.verify() == []
