"""A turn that a dead writer left and that cannot be sealed, for a row of it is damaged.

It is set aside, with everything that is there, and neither the store nor its session stops."""

from __future__ import annotations

from pathlib import Path

import pytest

import palaver
from palaver import Session, Store

from ..cli.run import Cli
from ..tools.talk import texts
from .places import bury, foreign, open_store

DAMAGE = {
    "a chunk that is no JSON": "UPDATE events SET data = '{\"type\":' WHERE kind = 'chunk'",
    "a chunk that does not fit": """UPDATE events SET data = '{"type":"text-end","id":"x"}' WHERE kind = 'chunk'""",
    "facts that are no JSON": "UPDATE turns SET facts_json = 'x' WHERE sealed_at IS NULL",
}


@pytest.fixture(params=DAMAGE)
def stuck(request: pytest.FixtureRequest, session: Session, url: str) -> palaver.Turn:
    turn = session.turn("left behind")
    turn.append([{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "half"}])
    with foreign(url) as execute:
        execute(DAMAGE[request.param], [])
    bury(url, turn.id)
    return turn


def is_set_aside(session: Session, turn: palaver.Turn) -> None:
    assert texts(session)[0] == "one" and "left behind" not in texts(session)
    assert [stray.id for stray in session.strays()] == [turn.id]
    assert session.live() == []


def test_the_store_opens_and_the_session_goes_on_without_it(session: Session, stuck: palaver.Turn, url: str) -> None:
    with open_store(url) as again:
        here = again.sessions.get(session.id)
        is_set_aside(here, stuck)
        here.commit("two")
        assert texts(here) == ["one", "two"]
        assert again.recover() == 0
        (problem,) = again.verify()
        assert (problem.rule, problem.where) == ("aside", stuck.id)
        assert session.id in problem.what and "set aside" in problem.what


@pytest.mark.parametrize("verb", ["commit", "turn", "undo", "fork", "revision"])
def test_a_verb_that_meets_it_goes_on_without_it(session: Session, stuck: palaver.Turn, verb: str) -> None:
    verbs = {
        "commit": lambda: session.commit("two", expected=1),
        "turn": lambda: session.turn("two", expected=1).seal(),
        "undo": session.undo,
        "fork": session.fork,
        "revision": lambda: session.revision,
    }
    verbs[verb]()
    assert [stray.id for stray in session.strays()] == [stuck.id]
    assert "left behind" not in texts(session)


def test_doctor_names_it(session: Session, stuck: palaver.Turn, store: Store, url: str, tmp_path: Path) -> None:
    store.recover()
    done = Cli(tmp_path)("--store", url, "doctor")
    assert f"turn {stuck.id} of session {session.id} could not be sealed" in done.out


def test_what_it_held_is_still_there(session: Session, stuck: palaver.Turn, url: str, store: Store) -> None:
    store.recover()
    with foreign(url) as execute:
        kept = execute("SELECT count(*) FROM events WHERE kind = 'chunk'", [])
    assert kept == [(2,)]
    assert [message.ui()["role"] for message in session.messages_of(stuck.id)] == ["user", "assistant"]


def test_a_full_or_busy_store_is_no_reason_to_set_a_turn_aside(
    session: Session, store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = session.turn("left behind")
    bury(url, turn.id)
    with monkeypatch.context() as patch:
        from palaver.core.turn import seal

        def full(*_: object) -> None:
            raise palaver.StoreFull("the disk is full")

        patch.setattr(seal, "freeze", full)
        with pytest.raises(palaver.StoreFull):
            store.recover()
    store.recover()
    assert texts(session) == ["one", "left behind"]
    assert store.verify() == []
