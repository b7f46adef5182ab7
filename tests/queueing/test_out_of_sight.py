"""A message that waits is in no transcript and no context, and nobody goes to it; readers of the contract are told."""

from __future__ import annotations

from typing import Any

import pytest

import palaver
from palaver import PalaverError, Queued, Session

from ..tools.sql import query
from .support import answer, everything, fire, said, seen, stamps, talk, waiting


@pytest.fixture
def session(store: palaver.Store) -> Session:
    found = store.sessions.create("a")
    talk(found, "first", "yes")
    return found


def test_it_is_in_no_transcript(session: Session, path: str) -> None:
    session.enqueue("later", id="m1")
    assert said(session.messages()) == ["first", "yes"]
    assert "later" not in session.messages_json()
    assert len(session.transcript()) == 2
    assert session.info.messages == 2 and session.info.turns == 1
    assert seen(path, session.id) == ["first", "yes"]
    assert said(session.at(2**52).messages()) == ["first", "yes"]


def test_it_is_in_no_context(session: Session) -> None:
    session.enqueue("later", id="m1")
    assert said(session.context()) == ["first", "yes"]
    assert len(session.model_messages()) == 2
    with session.turn("now") as turn:
        assert said(turn.context()) == ["first", "yes", "now"]
        answer(turn, "ok")
    with session.turn("again") as turn:
        session.enqueue("even later")
        assert said(turn.context()) == ["first", "yes", "now", "ok", "again"]


def test_it_is_no_turn_that_runs_or_waits_for_a_tool(session: Session) -> None:
    session.enqueue("later", id="m1")
    assert session.waiting() == [] and session.live() == [] and session.strays() == []
    assert len(session.path()) == 1


def test_it_is_no_preview(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    session.enqueue("waits", id="m1")
    assert session.info.preview is None
    session.enqueue("jumps", id="m2")
    fire(session, id="m2")
    assert session.info.preview == "jumps"
    fire(session)
    assert session.info.preview == "jumps"
    assert store.verify() == []


def test_what_was_taken_back_is_no_preview(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    session.enqueue("never mind", id="m1")
    session.cancel("m1")
    session.commit("this instead")
    assert session.info.preview == "this instead"
    assert store.verify() == []


VERBS = ["rewind", "fork", "edit", "regenerate", "resume"]
NAMES = ["the client's id", "its row", "its turn"]
PLACES = [(verb, by, "waiting") for verb in VERBS for by in NAMES] + [
    (verb, by, "cancelled")
    for verb in VERBS
    for by in NAMES
    if verb != "fork" or by == "the client's id"  # a fork reaches every sealed turn, a tombstone too
]


@pytest.mark.parametrize(("verb", "by", "state"), PLACES)
def test_nobody_goes_to_it(session: Session, path: str, verb: str, by: str, state: str) -> None:
    queued = session.enqueue("later", id="m1")
    if state == "cancelled":
        session.cancel("m1")
    place = name_of(queued, by, path)
    calls: dict[str, Any] = {
        "rewind": lambda: session.rewind(to=place),
        "fork": lambda: session.fork(at=place),
        "edit": lambda: session.edit(place, "sooner"),
        "regenerate": lambda: session.regenerate(place),
        "resume": lambda: session.resume(place),
    }
    before = everything(path)
    with pytest.raises(PalaverError):
        calls[verb]()
    assert everything(path) == before


def name_of(queued: Queued, by: str, path: str) -> str:
    if by == "the client's id":
        return queued.id
    if by == "its turn":
        return queued.turn_id
    ((row,),) = query(path, "SELECT ref FROM turn_entries WHERE turn_id = ? AND kind = 'message'", queued.turn_id)
    return str(row)


def test_no_head_moves_to_it(session: Session, path: str) -> None:
    queued = session.enqueue("later", id="m1")
    before = everything(path)
    with pytest.raises(PalaverError):
        session.move(queued.turn_id, expected=session.revision)
    assert everything(path) == before


def test_moves_of_the_head_leave_the_line_alone(session: Session, path: str, store: palaver.Store) -> None:
    talk(session, "second", "no")
    queued = session.enqueue("later", id="m1")
    session.rewind(to=session.path()[0])
    session.undo()
    session.regenerate().seal()
    with session.edit(session.messages()[0]["id"], "first, rather") as turn:
        answer(turn, "yes, rather")
    session.compact("they talked")
    assert session.queue() == [queued]
    assert stamps(path, session.id)["later"] == (queued.queued_at, None)
    assert store.verify() == []
    fire(session)
    assert said(session.messages())[-2:] == ["later", "done"]


def test_a_fork_has_no_line_of_its_own(session: Session, store: palaver.Store) -> None:
    session.enqueue("later", id="m1")
    fork = session.fork()
    copied = session.fork(copy=True)
    assert waiting(fork) == [] == waiting(copied)
    assert fork.claim() is None
    assert said(fork.messages()) == ["first", "yes"] == said(copied.messages())
    fork.enqueue("in the fork", id="m1")
    assert said([session.queue()[0].message, fork.queue()[0].message]) == ["later", "in the fork"]
    assert store.verify() == []


def test_readers_of_the_contract_see_when_it_was_sent(session: Session, path: str) -> None:
    queued = session.enqueue({"role": "user", "content": "later", "metadata": {"tone": "dry"}}, id="m1")
    assert stamps(path, session.id) == {"first": (None, None), "later": (queued.queued_at, None)}
    ((text,),) = query(path, "SELECT metadata_json FROM chat_messages WHERE metadata_json LIKE '%tone%'")
    assert text == f'{{"tone":"dry","queued_at":{queued.queued_at}}}'
    fire(session)
    ((text,),) = query(path, "SELECT metadata_json FROM chat_messages WHERE metadata_json LIKE '%tone%'")
    assert text == '{"tone":"dry"}'


def test_followers_hear_of_everything(session: Session) -> None:
    after = session.events()[-1].seq
    session.enqueue("one", id="m1")
    session.enqueue("two", id="m2")
    session.cancel("m2")
    fire(session)
    kinds = [event.kind for event in session.events(after=after) if event.kind != "chunk"]
    assert kinds == ["enqueue", "enqueue", "cancel", "begin", "seal"]
