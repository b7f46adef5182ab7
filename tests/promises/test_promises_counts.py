"""Rows 90 and 161 of the promise ledger: a session that is cleared, and counts that are the real ones."""

from __future__ import annotations

import palaver

from ..tools.sql import query

COUNTS = """
SELECT t.thread_messages, t.thread_calls, t.thread_results FROM heads h JOIN turns t ON t.id = h.turn_id
 WHERE h.session_id = ?
"""


def counted(session: palaver.Session) -> tuple[int, int, int]:
    """Messages, calls of tools and their results, as a reader finds them."""
    parts = [part for message in session.messages() for part in message["parts"]]
    calls = [part for part in parts if part["type"].startswith("tool-")]
    results = [part for part in calls if part["state"].startswith("output-")]
    return len(session.messages()), len(calls), len(results)


def talk(session: palaver.Session) -> None:
    for number in range(3):
        with session.turn(f"question {number}") as turn:
            for _ in range(number):
                turn.tool("look", {"at": number}).output("seen")
            turn.text("answered")
    session.commit([{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}])


def test_promise_161_the_counts_of_a_session_are_the_real_ones(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    talk(session)
    fork = session.fork(at=session.path()[1].id)
    fork.commit("on a way of its own")
    session.rewind(to=session.path()[2])
    session.regenerate().fail("it broke")
    for one, expected in ((session, (5, 1, 1)), (fork, (5, 1, 1))):
        assert query(store.path, COUNTS, one.id) == [counted(one)] == [expected]
        assert one.info.messages == expected[0]


def test_promise_090_a_session_that_is_cleared_keeps_its_row_and_counts_nothing(store: palaver.Store) -> None:
    session = store.sessions.create("a", title="kept")
    talk(session)
    session.move(None, expected=session.revision, reason="cleared")
    info = session.info
    assert (session.messages(), info.messages, info.turns, info.title) == ([], 0, 0, "kept")
    assert len(store.search("question")) == 0 < len(store.search("question", hidden=True))
    session.undo()
    assert session.info.messages == 8
