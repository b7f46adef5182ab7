"""A race is told, never merged: also when the other one died, or knows nothing of Palaver.

`expected` is compared after what the dead and other programs left was put on the path. Who is told finds that done, and
gets through with the revision that it reads then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import palaver
from palaver import HeadConflict, Session, Store
from palaver.core.settle import preflight

from ..tools.talk import texts
from .places import bury, foreign, plain_texts, put_row

Verb = Callable[[Session, int], Any]
VERBS: dict[str, Verb] = {
    "commit": lambda session, seen: session.commit("mine", expected=seen),
    "turn": lambda session, seen: session.turn("mine", expected=seen).seal(),
    "regenerate": lambda session, seen: session.regenerate(expected=seen).seal(),
    "edit": lambda session, seen: session.edit(session.messages()[0]["id"], "mine", expected=seen).seal(),
    "compact": lambda session, seen: session.compact("so far", expected=seen),
    "rewind": lambda session, seen: session.rewind(to=session.path()[0], expected=seen),
    "undo": lambda session, seen: session.undo(expected=seen),
    "move": lambda session, seen: session.move(session.path()[0], expected=seen),
}


def left_by_a_dead_writer(session: Session, url: str, *, said: str = "delete everything") -> palaver.Turn:
    turn = session.turn(said)
    turn.append([{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "deleting"}])
    bury(url, turn.id)
    return turn


def agree(store: Store, session: Session, url: str) -> None:
    assert plain_texts(url, session.id) == texts(session)
    assert store.verify() == []


@pytest.mark.parametrize("verb", VERBS)
def test_a_turn_begun_by_one_who_died_is_not_slipped_in_before_mine(
    store: Store, session: Session, url: str, verb: str
) -> None:
    seen = session.revision
    left_by_a_dead_writer(session, url)
    with pytest.raises(HeadConflict) as told:
        VERBS[verb](session, seen)
    assert (told.value.expected, told.value.actual, told.value.settled) == (seen, seen + 1, True)
    assert texts(session) == ["one", "delete everything", "deleting"]
    assert session.info.revision == seen + 1, "what was recovered stays"
    agree(store, session, url)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("behind", [0, 5], ids=["after our newest", "5 ms older than our newest"])
def test_a_row_of_another_program_is_not_slipped_in_before_mine(
    session: Session, url: str, verb: str, behind: int
) -> None:
    session.commit("two")
    seen = session.revision
    put_row(url, session.id, "from outside", behind=behind)
    with pytest.raises(HeadConflict) as told:
        VERBS[verb](session, seen)
    assert (told.value.expected, told.value.actual) == (seen, seen + 1)
    assert texts(session) == ["one", "two", "from outside"]


@pytest.mark.parametrize("verb", VERBS)
def test_who_was_told_gets_through_with_what_it_reads_then(store: Store, session: Session, url: str, verb: str) -> None:
    seen = session.revision
    put_row(url, session.id, "from outside")
    with pytest.raises(HeadConflict):
        VERBS[verb](session, seen)
    VERBS[verb](session, session.info.revision)
    agree(store, session, url)


def test_a_conflict_that_took_everything_back_would_be_told_for_ever(
    session: Session, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: so the tests above would see it."""
    monkeypatch.setattr(preflight, "HeadConflict", lambda *given, **_: HeadConflict(*given))
    put_row(url, session.id, "from outside")
    for _ in range(3):
        with pytest.raises(HeadConflict):
            session.commit("mine", expected=session.info.revision)


@pytest.mark.parametrize("left", ["by a dead writer", "by another program"])
def test_nobody_is_refused_for_what_it_was_shown(store: Store, session: Session, url: str, left: str) -> None:
    if left == "by a dead writer":
        left_by_a_dead_writer(session, url)
    else:
        put_row(url, session.id, "from outside")
    seen, shown = session.revision, texts(session)
    session.commit("mine", expected=seen)
    assert texts(session) == [*shown, "mine"]
    agree(store, session, url)


def test_a_snapshot_is_of_what_was_put_on_the_path(store: Store, session: Session, url: str) -> None:
    put_row(url, session.id, "from outside")
    stored, cursor = session.snapshot()
    assert all(message.turn_id is not None for message in stored)
    assert session.cursor() == cursor and session.info.revision == 2


def test_reading_the_revision_writes_nothing_where_nobody_else_wrote(
    store: Store, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> Any:
        raise AssertionError("a read wrote")

    monkeypatch.setattr(store.db, "write", refuse)
    for _ in range(3):
        assert session.revision == 1
        session.snapshot()


def dump(url: str) -> dict[str, list[Any]]:
    tables = ("chat_sessions", "chat_messages", "chat_parts", "turns", "turn_entries", "heads", "reflog", "events")
    with foreign(url) as execute:
        return {table: sorted(execute(f"SELECT * FROM {table}", []), key=repr) for table in tables}


@pytest.mark.parametrize("verb", VERBS)
def test_promise_108_the_loser_leaves_nothing_of_its_own(session: Session, url: str, verb: str) -> None:
    """After a conflict that told of others, the same call again changes not one row."""
    put_row(url, session.id, "from outside")
    with pytest.raises(HeadConflict):
        VERBS[verb](session, 1)
    before = dump(url)
    with pytest.raises(HeadConflict):
        VERBS[verb](session, 1)
    assert dump(url) == before
    told = [row for row in before["chat_messages"] if row[0] not in ids_of(session)]
    assert told == [], "a row of the loser's"


def ids_of(session: Session) -> set[str]:
    return {message.id for message in session.transcript()}


def test_promise_108_what_recovery_did_for_the_dead_stays(store: Store, session: Session, url: str) -> None:
    left = left_by_a_dead_writer(session, url)
    with pytest.raises(HeadConflict):
        session.commit("mine", expected=1)
    assert [turn.id for turn in session.path()][-1] == left.id
    assert session.path()[-1].status == "aborted"
    agree(store, session, url)


def test_a_conflict_that_nobody_left_anything_for_takes_everything_back(session: Session) -> None:
    session.commit("two")
    with pytest.raises(HeadConflict) as told:
        session.commit("no", expected=1)
    assert told.value.settled is False
    assert session.info.preview == "one"


def test_what_a_refused_caller_said_is_nowhere(store: Store, url: str) -> None:
    session = store.sessions.create("a")
    put_row(url, session.id, "from outside")
    with pytest.raises(HeadConflict):
        session.commit("my secret", expected=0)
    assert session.info.preview == "from outside"
    with foreign(url) as execute:
        assert execute("SELECT data_json FROM chat_parts", []) == [('{"type":"text","text":"from outside"}',)]


def test_another_refusal_takes_back_what_was_settled(session: Session, url: str) -> None:
    put_row(url, session.id, "from outside")
    with pytest.raises(palaver.NotFound):
        session.rewind(to="msg_nowhere")
    assert session.info.revision == 1
    with pytest.raises(palaver.NotFound):
        session.rewind(to="msg_nowhere", expected=2)
    assert session.info.revision == 1


# ---------------------------------------------------------------- while a turn stands on the revision


@pytest.mark.parametrize("standing", ["live", "waiting"])
def test_a_commit_that_names_its_revision_comes_before_rows_that_it_has_not_read(
    store: Store, session: Session, url: str, standing: str
) -> None:
    turn = session.turn("which?")
    turn.append([{"type": "tool-input-available", "toolCallId": "c1", "toolName": "pick", "input": {}}])
    if standing == "waiting":
        turn.wait()
    seen = session.revision
    put_row(url, session.id, "from outside")
    session.commit("mine", expected=seen)
    before = ["one", "which?"] if standing == "waiting" else ["one"]
    assert texts(session) == [*before, "mine", "from outside"]
    agree(store, session, url)
    session.commit("after", expected=session.revision)
    assert texts(session) == [*before, "mine", "from outside", "after"]
    agree(store, session, url)


@pytest.mark.parametrize("standing", ["live", "waiting"])
def test_a_turn_that_names_its_revision_comes_before_rows_that_it_has_not_read(
    store: Store, session: Session, url: str, standing: str
) -> None:
    other = session.turn("which?")
    if standing == "waiting":
        other.wait()
    seen = session.revision
    put_row(url, session.id, "from outside")
    turn = session.turn("mine", expected=seen)
    turn.append([{"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "answer"}])
    turn.seal()
    before = ["one", "which?"] if standing == "waiting" else ["one"]
    assert texts(session) == [*before, "mine", "from outside", "answer"]
    agree(store, session, url)


def test_where_a_row_stood_before_it_was_put_behind_is_kept(session: Session, url: str) -> None:
    session.turn("which?")
    message = put_row(url, session.id, "from outside")
    with foreign(url) as execute:
        ((stood,),) = execute("SELECT created_at FROM chat_messages WHERE id = ?", [message])
    session.commit("mine", expected=session.revision)
    assert [event.data for event in session.events() if event.kind == "restamp"] == [{"created_at": {message: stood}}]


def test_a_dead_turn_beside_a_living_one_does_not_come_before_mine(store: Store, session: Session, url: str) -> None:
    living = session.turn("living")
    dead = left_by_a_dead_writer(session, url)
    session.commit("mine", expected=session.revision)
    assert texts(session) == ["one", "mine"]
    with pytest.raises(HeadConflict):
        living.seal()
    store.recover()
    assert {stray.id for stray in session.strays()} == {living.id, dead.id}
    agree(store, session, url)
