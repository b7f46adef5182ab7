"""What another program changes in the columns of a turn, of its usage or of a copy, verify names: what else tells it is
compared. docs/operations.md says what no second copy tells."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import palaver
from palaver import Session, Store

from ..tools.sql import column, execute, one

CHANGES = {
    "failed, completed": ("status", "UPDATE turns SET status = 'completed' WHERE status = 'failed'"),
    "aborted, completed": ("status", "UPDATE turns SET status = 'completed' WHERE status = 'aborted'"),
    "stopped, failed": ("status", "UPDATE turns SET status = 'failed' WHERE facts_json LIKE '%stopped%'"),
    "no status": ("status", "UPDATE turns SET status = 'streaming' WHERE sealed_at IS NOT NULL"),
    "sealed at another time": ("seal", "UPDATE turns SET sealed_at = sealed_at - 86400000"),
    "sealed in the future": ("seal", "UPDATE turns SET sealed_at = sealed_at + 86400000"),
    "begun on another revision": ("seal", "UPDATE turns SET base_revision = base_revision + 99"),
    "a turn's cost": ("cost", "UPDATE turns SET cost_usd = 99 WHERE cost_usd > 0"),
    "a row's cost": ("cost", "UPDATE usage SET cost_reported = 99 WHERE n = 1"),
    "a row's tokens": ("usage", "UPDATE usage SET input = input + 1 WHERE n = 2"),
    "a row that is gone": ("usage", "DELETE FROM usage WHERE n = 2"),
}


@pytest.fixture
def store(path: str) -> Iterator[Store]:
    with palaver.open(path) as opened:
        yield opened


@pytest.fixture
def session(store: Store) -> Session:
    made = store.sessions.create("a")
    for cost in (0.25, 0.5):
        with made.turn("how much?") as turn:
            turn.text("so much")
            turn.usage(input=1, output=2, cost_usd=cost)
    made.turn("fails").fail("overloaded")
    made.turn("aborts").abort("enough")
    with made.turn("waits") as turn:
        turn.tool("run").ask()
    made.stop(reason="not now")
    assert store.verify() == []
    return made


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_of_what_is_told_twice_is_named(store: Store, session: Session, path: str, what: str) -> None:
    rule, change = CHANGES[what]
    execute(path, change)
    assert rule in {problem.rule for problem in store.verify()}


def test_costs_that_are_copies_are_written_again(store: Store, session: Session, path: str) -> None:
    execute(path, "UPDATE turns SET cost_usd = 99 WHERE cost_usd > 0")
    assert store.verify(fix=True) == []
    assert [turn.cost_usd for turn in session.path()][:2] == [0.25, 0.5]


COPIES = {
    "words": "UPDATE chat_parts SET data_json = replace(data_json, 'so much', 'nothing') WHERE message_id IN copied",
    "a part is gone": "DELETE FROM chat_parts WHERE message_id IN copied",
    "role": "UPDATE chat_messages SET role = 'system' WHERE id IN copied AND role = 'user'",
    "metadata": """UPDATE chat_messages SET metadata_json = '{"a":1}' WHERE id IN copied""",
    "time": "UPDATE chat_messages SET created_at = created_at - 1000 WHERE id IN copied",
}


KEPT = ("role", "time")  # no statement of ours assigns to them


@pytest.mark.parametrize("what", COPIES)
def test_a_copy_in_a_fork_is_compared_with_its_original_and_written_again(
    store: Store, session: Session, path: str, what: str
) -> None:
    session.fork(copy=True)
    assert store.verify() == []
    before = copies(path)
    execute(path, COPIES[what].replace("copied", "(SELECT copy_id FROM copies)"))
    found = [problem for problem in store.verify() if problem.rule == "copy"]
    assert found and all(problem.copy for problem in found)
    assert [problem.rule for problem in store.verify(fix=True)] == (["copy"] * len(found) if what in KEPT else [])
    assert what in KEPT or copies(path) == before


def copies(path: str) -> list[str]:
    """What a program sees that knows only the contract."""
    rows = "SELECT role || metadata_json || created_at FROM chat_messages WHERE id IN (SELECT copy_id FROM copies)"
    parts = "SELECT data_json FROM chat_parts WHERE message_id IN (SELECT copy_id FROM copies) ORDER BY message_id, 1"
    return [*column(path, f"{rows} ORDER BY id"), *column(path, parts)]


def test_a_copy_of_what_was_altered_is_left_as_it_is(store: Store, session: Session, path: str) -> None:
    session.fork(copy=True)
    before = copies(path)
    altered = one(path, "SELECT min(message_id) FROM copies")
    execute(path, "UPDATE chat_parts SET data_json = replace(data_json, 'much', 'MUCH') WHERE message_id = ?", altered)
    assert [problem.rule for problem in store.verify(fix=True)] == ["altered"]
    assert copies(path) == before
