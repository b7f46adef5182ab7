"""The record of every pointer movement (row 99): only added to, says where the head was when, and proves itself."""

from __future__ import annotations

from typing import Any

import pytest

import palaver

from ..tools.planting import broken_by
from ..tools.sql import execute, query
from ..tools.talk import texts
from .support_tree import Walk

LINES = "SELECT * FROM reflog WHERE session_id = ? ORDER BY seq"


@pytest.mark.parametrize("steps", [40, pytest.param(1_000, marks=pytest.mark.long)])
@broken_by("delete_takes_the_lines")
def test_promise_099_no_verb_changes_a_line_that_was_written(store: palaver.Store, steps: int) -> None:
    walk = Walk(store)
    written: dict[str, list[Any]] = {}

    def check() -> None:
        for session in walk.shows:
            lines = query(store.path, LINES, session)
            assert lines[: len(written.get(session, []))] == written.get(session, [])
            written[session] = lines

    walk.run(steps, check)
    assert sum(map(len, written.values())) > steps / 2


@pytest.fixture
def session(store: palaver.Store, monkeypatch: pytest.MonkeyPatch) -> palaver.Session:
    """Ten moves, ten milliseconds apart by the clock that stamps them."""
    clock = [1_700_000_000_000]
    monkeypatch.setattr("palaver.base.clock._now_ns", lambda: clock[0] * 1_000_000)
    made = store.sessions.create("a")
    for n in range(10):
        clock[0] += 10
        made.undo() if n == 6 else made.commit(f"turn {n}")
    return made


@broken_by("head_at_is_one_line_off")
def test_promise_099_the_head_at_any_time_is_what_a_replay_says(session: palaver.Session) -> None:
    lines = session.history()
    assert [line.at for line in lines] == list(range(1_700_000_000_000, 1_700_000_000_101, 10))
    for when in range(1_700_000_000_000, 1_700_000_000_120):
        replayed = [line for line in lines if line.at <= when][-1]
        moment = session.at(when)
        assert (moment.turn_id, moment.revision) == (replayed.turn_id, replayed.revision)
    with pytest.raises(palaver.SessionNotFound):
        session.at(1_699_999_999_999)


def test_promise_099_the_transcript_at_a_time_is_the_one_of_that_head(session: palaver.Session) -> None:
    def shown(when: int) -> list[str]:
        return [part["text"] for message in session.at(when).messages() for part in message["parts"]]

    assert shown(1_700_000_000_009) == []
    assert shown(1_700_000_000_035) == ["turn 0", "turn 1", "turn 2"]
    assert shown(1_700_000_000_069) == [f"turn {n}" for n in range(6)]
    assert shown(1_700_000_000_070) == [f"turn {n}" for n in range(5)]
    assert shown(1_900_000_000_000) == texts(session)


TAMPERED = {
    "a time": "UPDATE reflog SET at = at + 1 WHERE revision = 3",
    "a place": "UPDATE reflog SET turn_id = (SELECT turn_id FROM reflog WHERE revision = 1) WHERE revision = 3",
    "a reason": "UPDATE reflog SET reason = 'because' WHERE revision = 3",
    "a kind": "UPDATE reflog SET kind = 'rewind' WHERE revision = 3",
    "a line gone": "DELETE FROM reflog WHERE revision = 3",
    "the first line gone": "DELETE FROM reflog WHERE revision = 0",
    "the last line gone": "DELETE FROM reflog WHERE revision = 10",
    "a line more": "INSERT INTO reflog SELECT session_id, seq + 900, kind, turn_id, 11, at, NULL, reason, link "
    "FROM reflog WHERE revision = 10",
    "the head moved without a line": "UPDATE heads SET turn_id = prev_turn_id",
}


@pytest.mark.parametrize("what", TAMPERED)
@broken_by("links_cover_nothing")
def test_promise_099_verify_names_a_line_that_was_changed(
    store: palaver.Store, session: palaver.Session, what: str
) -> None:
    assert store.verify() == []
    execute(store.path, TAMPERED[what])
    found = {(problem.rule, problem.where) for problem in store.verify() if not problem.copy}
    assert found & {("reflog", session.id), ("head", session.id)}
