"""Pruning: old tool outputs leave the context. Every byte of the record stays, and travels with the stamps."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver import exports

from ..tools.chunks import result, step, text
from ..tools.sql import query
from ..tools.talk import feed
from .support import call, outputs, talk, talks

PRUNED = "[output pruned]"


@pytest.fixture
def session(store: palaver.Store) -> palaver.Session:
    return store.sessions.create("coder")


def test_the_outputs_of_all_but_the_last_turns_are_not_shown_again(
    store: palaver.Store, session: palaver.Session
) -> None:
    talks(session, 1, 2, 3, 4, tool=True)
    before = session.messages_json()
    assert session.prune(keep=2) == 2
    assert outputs(session.context()) == [PRUNED, PRUNED, "output 3", "output 4"]
    assert session.messages_json() == before
    assert outputs(session.messages()) == ["output 1", "output 2", "output 3", "output 4"]
    assert store.verify() == []


def test_the_outputs_before_a_turn_are_not_shown_again(session: palaver.Session) -> None:
    turns = talks(session, 1, 2, 3, tool=True)
    assert session.prune(before=turns[1]) == 1
    assert session.prune(before=session.path()[2]) == 1
    assert session.prune(before=turns[2]) == 0
    assert outputs(session.context()) == [PRUNED, PRUNED, "output 3"]


@pytest.mark.parametrize(("keep", "count"), [(0, 3), (1, 2), (3, 0), (99, 0)])
def test_keep_counts_turns_from_the_end(session: palaver.Session, keep: int, count: int) -> None:
    talks(session, 1, 2, 3, tool=True)
    assert session.prune(keep=keep) == count


def test_keep_does_not_count_a_summary(session: palaver.Session) -> None:
    turns = talks(session, 1, 2, tool=True)
    session.compact("s", keep_from=turns[1])
    session.prune(keep=1)
    assert outputs(session.context()) == ["output 2"]


def test_errors_and_inputs_stay(session: palaver.Session) -> None:
    with session.turn("q") as turn:
        failed = {"type": "tool-output-error", "toolCallId": "c1", "errorText": "no such file"}
        feed(turn, [{"type": "start"}, *step(call("c1"), failed, call("c2"), result("c2", {"big": 1}))])
    assert session.prune(keep=0) == 1
    parts = [part for part in session.context()[1]["parts"] if part["type"] == "tool-run"]
    assert [part.get("errorText", part.get("output")) for part in parts] == ["no such file", PRUNED]
    assert [part["input"] for part in parts] == [{"n": 1}, {"n": 1}]


def test_model_messages_and_open_turns_obey(session: palaver.Session) -> None:
    talks(session, 1, tool=True)
    session.prune(keep=0)
    turn = feed(session.turn("q2"), [{"type": "start"}, *step(call("c2"), result("c2", "new"))])
    assert outputs(turn.context()) == [PRUNED, "new"]
    told = [m for m in session.model_messages() if m["role"] == "tool"]
    assert told[0]["content"][0]["output"] == {"type": "text", "value": PRUNED}
    turn.abort()


def test_a_fork_sees_what_was_pruned_before(store: palaver.Store, session: palaver.Session) -> None:
    talks(session, 1, 2, tool=True)
    session.prune(keep=1)
    for fork in (session.fork(), session.fork(copy=True)):
        assert outputs(fork.context()) == [PRUNED, "output 2"]
    assert store.verify() == []


def test_what_is_pruned_stays_so_through_rewind_undo_and_compaction(
    store: palaver.Store, session: palaver.Session
) -> None:
    turns = talks(session, 1, 2, 3, tool=True)
    session.prune(keep=1)
    session.rewind(to=turns[1])
    assert outputs(session.context()) == [PRUNED, PRUNED]
    session.undo()
    session.compact("of 1", keep_from=turns[1])
    assert outputs(session.context()) == [PRUNED, "output 3"]
    assert store.verify() == []


@pytest.mark.parametrize("given", [{}, {"keep": -1}, {"keep": True}, {"keep": "1"}, {"keep": 1, "before": "x"}])
def test_what_to_prune_is_said_once_and_right(session: palaver.Session, given: dict[str, Any]) -> None:
    talks(session, 1, tool=True)
    with pytest.raises(palaver.BadValue):
        session.prune(**given)
    assert outputs(session.context()) == ["output 1"]


def test_a_place_that_is_not_there_is_refused(session: palaver.Session) -> None:
    aside = talk(session, "1", tool=True)
    session.undo()
    talk(session, "2", tool=True)
    with pytest.raises(palaver.NotOnPath):
        session.prune(before=aside)
    with pytest.raises(palaver.TurnNotFound):
        session.prune(before="trn_nowhere")
    assert outputs(session.context()) == ["output 2"]


def test_pruning_is_an_event_and_moves_no_head(session: palaver.Session) -> None:
    talks(session, 1, tool=True)
    revision, seen = session.revision, list(session.events(0))[-1].seq
    session.prune(keep=0)
    assert [(event.kind, event.data) for event in session.events(seen)] == [("prune", {"parts": 1})]
    assert session.revision == revision


def test_an_empty_session_has_nothing_to_prune(session: palaver.Session) -> None:
    assert session.prune(keep=0) == 0
    assert session.context() == []


# ---------------------------------------------------------------- elsewhere


def exported(store: palaver.Store) -> bytes:
    into = io.BytesIO()
    exports.write(store.db, into, None)
    return into.getvalue()


def test_stamps_and_summaries_travel_to_another_store(
    store: palaver.Store, session: palaver.Session, tmp_path: Path
) -> None:
    turns = talks(session, 1, 2, 3, tool=True)
    session.prune(keep=2)
    session.compact("of 1", keep_from=turns[1])
    feed(session.turn("q"), [{"type": "start"}, *step(*text("a"))]).compact("of all", keep_from=turns[2]).seal()
    data = exported(store)
    there = str(tmp_path / "there.db")
    with palaver.open(there, durability="normal") as other:
        assert exports.read(other.db, io.BytesIO(data)).refused == 0
        copy = other.sessions.get(session.id)
        assert copy.context() == session.context()
        assert copy.messages_json() == session.messages_json()
        assert copy.path() == session.path()
        assert exported(other) == data
        assert other.verify() == []
    rows = "SELECT part_id, session_id, at FROM pruned ORDER BY part_id"
    assert query(there, rows) == query(store.path, rows) != []
