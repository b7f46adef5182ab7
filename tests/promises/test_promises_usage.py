"""Tokens (rows 158, 159, 160): the session's sums, its messages and its turns always say the same."""

from __future__ import annotations

from typing import Any

import pytest

import palaver

from ..tools.planting import broken_by
from ..tools.sql import execute, one, query
from .support_tree import Walk, answers

STEPS = pytest.mark.parametrize("steps", [40, pytest.param(1_000, marks=pytest.mark.long)])
ROLLUPS = "prompt_tokens, completion_tokens, reasoning_tokens, cache_read, cache_write"
KEYS = ("input", "output", "reasoning", "cache_read", "cache_write")


def rollups(path: str) -> list[tuple[Any, ...]]:
    return query(path, f"SELECT id, {ROLLUPS} FROM chat_sessions ORDER BY id")


def by_message(path: str) -> list[tuple[Any, ...]]:
    """The sums of `usage` over every session's own assistant messages."""
    sums = ", ".join(f"coalesce(sum(m.metadata_json ->> '$.usage.{key}'), 0)" for key in KEYS)
    return query(
        path,
        f"SELECT s.id, {sums} FROM chat_sessions s LEFT JOIN chat_messages m ON m.session_id = s.id "
        "AND m.role = 'assistant' GROUP BY s.id ORDER BY s.id",
    )


def by_turn(path: str) -> list[tuple[Any, ...]]:
    """The sums over the turns that every session began."""
    columns = ("input_tokens", "output_tokens", "reasoning_tokens", "cache_read", "cache_write")
    sums = ", ".join(f"coalesce(sum(t.{column}), 0)" for column in columns)
    return query(
        path,
        f"SELECT s.id, {sums} FROM chat_sessions s LEFT JOIN turns t ON t.session_id = s.id "
        "GROUP BY s.id ORDER BY s.id",
    )


@STEPS
@broken_by("usage_falls_with_a_rewind", "usage_is_counted_twice_in_the_session")
def test_promise_158_rollups_are_the_sums_over_messages_after_every_verb(store: palaver.Store, steps: int) -> None:
    Walk(store).run(steps, lambda: _same(rollups(store.path), by_message(store.path)))
    assert one(store.path, "SELECT sum(prompt_tokens) FROM chat_sessions") > 0


def _same(left: list[Any], right: list[Any]) -> None:
    assert left == right


@broken_by("usage_falls_with_a_rewind")
def test_promise_158_rollups_never_fall_by_rewind_hide_or_delete(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    for n in (1, 2, 3):
        answers(session.turn("hello"), "hi", tokens=n)
    full = rollups(store.path)
    assert full == [(session.id, 6, 12, 3, 18, 6)]
    session.rewind(to=session.messages()[1]["id"])
    assert rollups(store.path) == full
    session.delete()
    assert rollups(store.path) == full == by_message(store.path)


def test_promise_158_a_fork_starts_at_zero_and_counts_its_own(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    answers(session.turn("hello"), "hi", tokens=5)
    fork = session.fork()
    assert dict((row[0], row[1:]) for row in rollups(store.path)) == {session.id: (5, 10, 1, 15, 2), fork.id: (0,) * 5}
    answers(fork.turn("more"), "yes", tokens=1)
    assert dict((row[0], row[1:]) for row in rollups(store.path))[fork.id] == (1, 2, 1, 3, 2)


def test_promise_158_messages_that_come_with_usage_are_counted(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    used = {"input": 3, "output": 4, "reasoning": 5, "cache_read": 6, "cache_write": 7}
    session.commit(
        [
            {"role": "user", "content": "hello", "metadata": {"usage": {"input": 1000}}},
            {"role": "assistant", "content": "one", "metadata": {"usage": used}},
            {"role": "assistant", "content": "two", "metadata": {"usage": {"input": 1, "vendor": "x", "output": None}}},
        ]
    )
    assert rollups(store.path) == [(session.id, 4, 4, 5, 6, 7)]
    assert by_turn(store.path) == rollups(store.path)


def test_promise_158_verify_compares_the_copy_with_the_truth_and_can_mend_it(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    answers(session.turn("hello"), "hi", tokens=5)
    execute(store.path, "UPDATE chat_sessions SET prompt_tokens = 999")
    assert [(problem.rule, problem.copy) for problem in store.verify()] == [("rollups", True)]
    assert store.verify(fix=True) == []
    assert rollups(store.path) == [(session.id, 5, 10, 1, 15, 2)]


@STEPS
@broken_by("the_total_forgets_the_cache")
def test_promise_159_the_total_is_the_sum_of_the_five(store: palaver.Store, steps: int) -> None:
    wrong = f"SELECT id FROM chat_sessions WHERE total_tokens <> {ROLLUPS.replace(', ', ' + ')}"

    def check() -> None:
        assert query(store.path, wrong) == []

    walk = Walk(store)
    walk.run(steps, check)
    answers(walk.store.sessions.create("a").turn("hello"), "hi", tokens=4)
    assert one(store.path, "SELECT max(total_tokens) FROM chat_sessions") >= 4 + 8 + 1 + 12 + 2
    check()


@STEPS
@broken_by("usage_is_counted_twice_in_the_session")
def test_promise_160_the_usage_of_the_turns_adds_up_to_the_session(store: palaver.Store, steps: int) -> None:
    Walk(store).run(steps, lambda: _same(by_turn(store.path), rollups(store.path)))


@broken_by("usage_is_counted_twice_in_the_session")
def test_promise_160_deltas_within_a_turn_add_up_however_they_come(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    with session.turn("told by calls") as turn:
        turn.write({"type": "start-step"})
        for n in (1, 2, 3):
            turn.usage(input=n, output=1)
    with session.turn("told by the stream, as running totals") as turn:
        for n in (5, 10, 20):
            turn.write({"type": "message-metadata", "messageMetadata": {"usage": {"input": n, "output": 1}}})
    turn = session.turn("aborted")
    turn.write({"type": "start-step"})
    turn.usage(input=100, reasoning=9)
    turn.abort()
    used = query(store.path, "SELECT input_tokens, output_tokens, reasoning_tokens FROM turns ORDER BY depth")
    assert used == [(6, 3, 0), (20, 1, 0), (100, 0, 9)]
    assert rollups(store.path) == by_turn(store.path) == by_message(store.path) == [(session.id, 126, 4, 9, 0, 0)]


def adopted(store: palaver.Store) -> palaver.Session:
    """A conforming program writes its message and adds to the sums; we adopt the message and add nothing."""
    session = store.sessions.create("a")
    answers(session.turn("hello"), "hi", tokens=5)
    at = one(store.path, "SELECT max(created_at) + 1 FROM chat_messages")
    used = '{"usage":{"input":7,"output":1}}'
    execute(
        store.path, "INSERT INTO chat_messages VALUES ('theirs', ?, 'assistant', ?, ?, ?)", session.id, used, at, at
    )
    added = (
        "prompt_tokens = prompt_tokens + 7, completion_tokens = completion_tokens + 1, total_tokens = total_tokens + 8"
    )
    execute(store.path, f"UPDATE chat_sessions SET {added}")
    assert session.adopt()
    return session


def test_promise_158_another_program_and_ours_add_to_the_same_sums(store: palaver.Store) -> None:
    session = adopted(store)
    assert rollups(store.path) == by_message(store.path) == [(session.id, 12, 11, 1, 15, 2)]
    assert store.verify() == []


def test_promise_160_the_turns_of_another_program_s_messages_are_in_the_ledger(store: palaver.Store) -> None:
    session = adopted(store)
    assert by_turn(store.path) == rollups(store.path)
    assert [(turn.kind, turn.usage.total, turn.thread_tokens) for turn in session.path()] == [
        ("turn", 33, 33),
        ("foreign", 8, 41),
    ]
