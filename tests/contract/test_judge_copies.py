"""A fork that was written out: its prefix as copies, so that a reader who knows only the contract sees it whole."""

from __future__ import annotations

from typing import Any

import pytest

import palaver

from ..tools.sql import put_message
from . import judge
from .support import assert_agrees, say, shown, stream, texts

TALK = ["one", "first", "two", "second", "three", "third"]


@pytest.fixture
def session(store: palaver.Store) -> palaver.Session:
    made = store.sessions.create("coder")
    for question, reply in zip(TALK[::2], TALK[1::2], strict=True):
        with made.turn(question) as turn:
            stream(turn, reply)
            turn.usage(input=10, output=1)
    return made


def without_usage(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A copy carries no usage: the tokens were counted where they were used."""
    plain = shown(messages)
    for message in plain:
        message["metadata"] = {key: value for key, value in message["metadata"].items() if key != "usage"}
    return plain


def rebuilt(store: palaver.Store, fork: palaver.Session) -> list[str]:
    """What the judge reads of a fork, after making sure that it is what we show and that no promise is broken."""
    found = assert_agrees(store).transcripts[fork.id]
    assert without_usage(found) == without_usage(fork.messages())
    return texts(found)


def test_a_fork_with_copies_reads_whole(store: palaver.Store, session: palaver.Session) -> None:
    fork = session.fork(at=session.messages()[3]["id"], copy=True)
    assert rebuilt(store, fork) == TALK[:4]
    say(fork, "otherwise", "yes")
    assert rebuilt(store, fork) == [*TALK[:4], "otherwise", "yes"]
    assert fork.info.total_tokens == 0


def test_a_fork_written_out_later_reads_whole(store: palaver.Store, session: palaver.Session) -> None:
    fork = session.fork(at=session.messages()[3]["id"])
    say(fork, "otherwise", "yes")
    assert fork.materialise() == 4
    assert rebuilt(store, fork) == [*TALK[:4], "otherwise", "yes"]
    assert fork.materialise() == 0


def test_copies_are_never_taken_for_rows_of_another_program(store: palaver.Store, session: palaver.Session) -> None:
    fork = session.fork(copy=True)
    say(fork, "four", "fourth")
    assert fork.adopt() is False
    assert store.adopt() == 0
    assert [turn.kind for turn in fork.path()] == ["turn"] * 4
    assert rebuilt(store, fork) == [*TALK, "four", "fourth"]


def test_a_rewind_hides_copies_and_undo_shows_them(store: palaver.Store, session: palaver.Session) -> None:
    fork = session.fork(copy=True)
    fork.rewind(to=fork.messages()[2]["id"])
    assert rebuilt(store, fork) == TALK[:3]
    say(fork, "two b", "second b")
    assert rebuilt(store, fork) == [*TALK[:3], "two b", "second b"]
    fork.undo()
    fork.undo()
    assert rebuilt(store, fork) == TALK


def test_a_rewind_of_the_parent_does_not_touch_the_copies(store: palaver.Store, session: palaver.Session) -> None:
    fork = session.fork(copy=True)
    session.rewind(to=session.path()[0])
    assert rebuilt(store, fork) == TALK
    session.delete()
    assert rebuilt(store, fork) == TALK


def test_regenerate_and_edit_in_a_fork_with_copies(store: palaver.Store, session: palaver.Session) -> None:
    fork = session.fork(copy=True)
    turn = fork.regenerate()
    assert rebuilt(store, fork) == TALK[:5]
    stream(turn, "third b")
    turn.seal()
    assert rebuilt(store, fork) == [*TALK[:5], "third b"]
    with fork.edit(fork.messages()[0]["id"], "one b") as turn:
        stream(turn, "first b")
    assert rebuilt(store, fork) == ["one b", "first b"]


def test_a_fork_of_a_fork_with_copies(store: palaver.Store, session: palaver.Session) -> None:
    fork = session.fork(at=session.messages()[1]["id"], copy=True)
    say(fork, "otherwise", "yes")
    again = fork.fork(copy=True)
    assert rebuilt(store, again) == ["one", "first", "otherwise", "yes"]
    assert rebuilt(store, fork) == ["one", "first", "otherwise", "yes"]


def test_deleting_a_fork_hides_its_copies(store: palaver.Store, session: palaver.Session) -> None:
    fork = session.fork(copy=True)
    fork.delete()
    assert judge.look(store.path).transcripts[fork.id] == []
    fork.undelete()
    assert rebuilt(store, fork) == TALK


def test_rows_of_another_program_in_a_fork_come_after_the_copies(
    store: palaver.Store, session: palaver.Session
) -> None:
    fork = session.fork(copy=True)
    put_message(store.path, fork.id, "from outside")
    assert rebuilt(store, fork) == [*TALK, "from outside"]
    say(fork, "four", "fourth")
    assert rebuilt(store, fork) == [*TALK, "from outside", "four", "fourth"]


def test_a_session_that_is_no_fork_has_nothing_to_copy(store: palaver.Store, session: palaver.Session) -> None:
    assert session.materialise() == 0
    assert rebuilt(store, session) == TALK


# ---------------------------------------------------------------- a question that several turns list


def test_a_copied_question_that_an_older_open_turn_lists_stays_visible(store: palaver.Store) -> None:
    """It was hidden by the next materialise, while it stood in the transcript."""
    session = store.sessions.create("coder")
    say(session, "why?", "because")
    fork = session.fork()
    fork.materialise()
    with fork.regenerate() as turn:
        stream(turn, "once more")
    fork.regenerate()
    fork.undo()
    fork.materialise()
    assert texts(fork.messages()) == ["why?", "once more"]
    assert_agrees(store)
    assert store.verify() == []


def test_a_copied_question_of_a_turn_that_went_adrift_is_hidden(store: palaver.Store) -> None:
    """It stayed in sight of contract readers, though no turn of the transcript lists it."""
    session = store.sessions.create("coder")
    say(session, "why?", "because")
    fork = session.fork()
    fork.materialise()
    turn = fork.regenerate()
    put_message(store.path, fork.id, "and another program says")
    fork.delete()
    fork.undelete()
    assert [stray.id for stray in fork.strays()] == [turn.id]
    assert_agrees(store)
    assert store.verify() == []
