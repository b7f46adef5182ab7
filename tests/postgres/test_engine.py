"""What only an engine without one line for all writers has to prove: the lock of the head keeps them apart."""

from __future__ import annotations

import itertools
import resource
from collections.abc import Callable
from typing import Any

import pytest

import palaver
from palaver.db.postgres import dialect
from palaver.db.postgres.pipeline import Pipeline
from palaver.db.queries import Q

from ..tools.waiting import in_threads

Chunk = dict[str, Any]


def story(name: str, steps: int) -> list[Chunk]:
    """Steps with text and a tool each: deltas that go in by themselves, and chunks that bring rows along."""
    told: list[Chunk] = [{"type": "start"}]
    for step in range(steps):
        call = f"{name}-{step}"
        told += [{"type": "start-step"}, {"type": "text-start", "id": call}]
        told += [{"type": "text-delta", "id": call, "delta": f"{name}{n} "} for n in range(4)]
        told += [
            {"type": "text-end", "id": call},
            {"type": "tool-input-available", "toolCallId": call, "toolName": "sh", "input": {}},
            {"type": "tool-output-available", "toolCallId": call, "output": step},
            {"type": "finish-step"},
        ]
    return told


def at_once(*works: Callable[[], None]) -> list[BaseException]:
    failed: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    in_threads(run, works)
    return failed


def stream_side_by_side(dsn: str, steps: int) -> list[BaseException]:
    """Four turns of one session, each from a store of its own; all that was told is there."""
    stores = [palaver.open(dsn) for _ in range(4)]
    try:
        session = stores[0].sessions.create("crowd")
        turns = [store.sessions.get(session.id).turn(f"question {n}") for n, store in enumerate(stores)]
        told = [story(f"t{n}", steps) for n in range(4)]

        def write(n: int) -> None:
            for chunk in told[n]:
                turns[n].write(chunk)

        failed = at_once(*(lambda n=n: write(n) for n in range(4)))
        if not failed:
            assert [turn.message()["parts"] for turn in turns] == [palaver.fold(one)["parts"] for one in told]
        return failed
    finally:
        for store in stores:
            store.close()


def test_turns_of_one_session_stream_from_several_stores_at_once(dsn: str) -> None:
    assert stream_side_by_side(dsn, steps=6) == []
    with palaver.open(dsn) as store:
        assert store.verify() == []


def test_without_the_lock_of_the_head_numbers_are_taken_twice(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = dialect.translate
    monkeypatch.setattr(dialect, "translate", lambda query: real(query)._replace(locks=None))
    assert any(stream_side_by_side(dsn, steps=25) for _ in range(4))


@pytest.mark.parametrize("writers", [8])
def test_commits_of_many_stores_to_one_session_are_all_on_its_path(dsn: str, writers: int) -> None:
    stores = [palaver.open(dsn) for _ in range(writers)]
    session = stores[0].sessions.create("crowd")

    def commit(n: int) -> None:
        for number in range(10):
            stores[n].sessions.get(session.id).commit(f"{n}:{number}")

    assert at_once(*(lambda n=n: commit(n) for n in range(writers))) == []
    said = [message["parts"][0]["text"] for message in session.messages()]
    assert sorted(said) == sorted(f"{n}:{number}" for n in range(writers) for number in range(10))
    assert all(
        [text for text in said if text.startswith(f"{n}:")] == [f"{n}:{k}" for k in range(10)] for n in range(writers)
    )
    assert session.revision == 10 * writers and stores[0].verify() == []
    for store in stores:
        store.close()


def test_every_statement_that_moves_or_numbers_takes_the_lock() -> None:
    taking = [Q.take_head, Q.advance_head, Q.begin_head, Q.respond_head, Q.seal_head, Q.move_head, Q.take_turn]
    assert all(dialect.translate(query).locks is not None for query in taking)
    assert dialect.translate(Q.where_turn_stands).locks is None
    assert "FOR SHARE OF h" in dialect.translate(Q.append_chunk).text


@pytest.mark.parametrize("pooler", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "COMMIT; DELETE FROM heads; SELECT 1",
        "SELECT 1; COMMIT; DELETE FROM heads",
        "SELECT 1; SELECT 2",
        "DELETE FROM heads",
        "WITH gone AS (DELETE FROM heads RETURNING 1) SELECT * FROM gone",
    ],
)
def test_what_a_person_asks_cannot_change_anything(dsn: str, text: str, pooler: bool) -> None:
    with palaver.open(dsn, pooler=pooler) as store:
        session = store.sessions.create("a")
        session.commit("hello")
        with pytest.raises(palaver.BadValue, match="cannot run this"):
            store.db.query(text)
        assert (session.revision, store.verify()) == (1, [])


def test_a_long_answer_to_a_person_is_not_read_at_once(dsn: str) -> None:
    with palaver.open(dsn) as store:
        columns, rows = store.db.query("SELECT n, repeat('x', 10000) AS text FROM generate_series(1, 300000) AS n")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert columns == ["n", "text"]
        assert [n for n, _ in itertools.islice(rows, 5_000)] == list(range(1, 5_001))
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000, "in kB; all of it is 3 GB"
        rows.close()  # type: ignore[attr-defined]


def test_an_error_that_comes_with_a_later_row_is_said_like_any_other(dsn: str) -> None:
    with palaver.open(dsn) as store:
        _, rows = store.db.query("SELECT 1 / (n - 3000) FROM generate_series(1, 4000) AS n")
        with pytest.raises(palaver.BadValue, match="cannot run this: division by zero"):
            list(rows)


def test_an_interrupt_in_the_middle_of_an_answer_arrives_and_the_store_goes_on(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*given: Any) -> None:
        raise KeyboardInterrupt

    with palaver.open(dsn) as store:
        session = store.sessions.create("a")
        with monkeypatch.context() as patch:
            patch.setattr(Pipeline, "_wait", interrupt)
            with pytest.raises(KeyboardInterrupt):
                session.commit("interrupted")
        session.commit("hello")
        assert [message["parts"][0]["text"] for message in session.messages()] == ["hello"]


def test_the_address_may_name_the_space(dsn: str) -> None:
    with palaver.open(f"{dsn}#acme") as store, palaver.open(dsn, space="acme") as same, palaver.open(dsn) as other:
        made = store.sessions.create("a")
        assert same.sessions.get(made.id).info.agent == "a"
        with pytest.raises(palaver.SessionNotFound):
            other.sessions.get(made.id)
    with pytest.raises(palaver.BadValue, match="leave one of them out"):
        palaver.open(f"{dsn}#acme", space="globex")
