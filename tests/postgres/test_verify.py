"""`verify` on a server: windows that stay small, an error that says what it is, and writers that go on beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import pytest

import palaver
from palaver.db.postgres.transactions import Statements
from palaver.db.queries import Query

from ..opening import live
from .engines import connect

SLOW = Query("slow", "SELECT 1 FROM (SELECT pg_sleep(30)) slow")


@pytest.fixture
def store(dsn: str) -> Iterator[palaver.Store]:
    with palaver.open(dsn, durability="normal") as opened:
        yield opened


def deface(dsn: str, statement: str) -> None:
    with closing(connect(dsn, "default")) as db:
        assert db.execute(statement.encode()).rowcount > 0, statement


# ---------------------------------------------------------------- beside writers


@pytest.mark.parametrize("claim", live.CLAIMS, ids=lambda claim: claim.__name__)
def test_a_repair_undoes_nothing_that_was_written_since_the_check(
    store: palaver.Store, dsn: str, claim: Callable[..., None]
) -> None:
    claim(store, dsn, partial(deface, dsn))


def test_a_writer_goes_on_beside_checks_and_repairs(store: palaver.Store, dsn: str) -> None:
    live.a_writer_goes_on_beside_checks_and_repairs(store, dsn, partial(deface, dsn), times=3)


# ---------------------------------------------------------------- no statement takes long


def rows_touched(store: palaver.Store) -> tuple[int, int]:
    """Over all statements of a check: rows that the server's plans went through; the most of one statement."""
    asked: list[tuple[str, Any]] = []
    rows = Statements._rows

    def note(self: Statements, query: Query, values: Any) -> Any:
        asked.append((self._dialect(query).text, values))
        return rows(self, query, values)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Statements, "_rows", note)
        assert store.verify() == []
    touched = [_explained(store, text, values) for text, values in asked]
    return sum(touched), max(touched)


def _explained(store: palaver.Store, text: str, values: Any) -> int:
    explain = Query(f"explain {text}", f"EXPLAIN (ANALYZE, FORMAT JSON) {text}")
    explain.names, explain.bind = (), lambda params: values
    with store.db.read() as tx:
        ((plan,),) = tx.all(explain)
    return _rows_of((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])


def _rows_of(plan: Any) -> int:
    seen = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0) + plan.get("Rows Removed by Join Filter", 0)
    return int(seen * plan["Actual Loops"]) + sum(map(_rows_of, plan.get("Plans", ())))


def test_four_times_the_turns_touch_four_times_the_rows(store: palaver.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palaver.background.jobs.Index.due", lambda *_: None)  # its statements would be counted
    session, counted = store.sessions.create("a"), []
    for turns in (120, 360):
        for number in range(turns):
            session.commit([{"role": "user", "parts": [{"type": "text", "text": f"{number}"}]}] * 3)
        counted.append(rows_touched(store))
    (few, _), (many, most) = counted
    print(f"120 turns: {few} rows; 480: {many}, at most {most} in one statement")
    assert many < 5 * few
    assert most < 10_000


# ---------------------------------------------------------------- a time-out is called one


def test_a_question_that_takes_too_long_is_not_called_a_lock(dsn: str) -> None:
    with palaver.open(dsn, timeout=0.3) as store:
        with pytest.raises(palaver.StoreTimeout, match="nothing was locked") as raised, store.db.read() as tx:
            tx.all(SLOW)
        assert raised.value.allowed == 0.3
        assert store.verify() == []


def test_a_reader_that_waits_for_a_lock_is_told_so(store: palaver.Store, dsn: str) -> None:
    store.sessions.create("a")
    with closing(connect(dsn, "default")) as other, palaver.open(dsn, timeout=0.3) as reader:
        with other.transaction(), pytest.raises(palaver.StoreBusy, match="was locked"):
            other.execute("LOCK TABLE chat_sessions")
            reader.sessions.list()
        assert len(reader.sessions.list().sessions) == 1
