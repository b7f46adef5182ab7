"""Named statements go by an index, whatever the planner thinks of small tables; what reads everything is free to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

import palaver
from palaver.db.postgres import dialect
from palaver.db.postgres.pipeline import Pipeline, Step
from palaver.db.postgres.transactions import Statements
from palaver.db.queries import Q, Query

from .conftest import database_of_its_own
from .engines import Row, connect
from .server import Given
from .shared import Shared

SHOW = "SELECT current_setting('enable_seqscan'), current_setting('enable_sort')"
BOUND, FREE = Query("bound", SHOW), Query("free", SHOW, f"-- plan: free\n{SHOW}")
NUMBERS: dict[str, Any] = dict.fromkeys(("since", "after", "before", "above", "messages", "depth", "first", "last"), 0)
NUMBERS |= {"limit": 10, "far": 2**62, "mark": 0}
OFF, ON = ("off", "off"), ("on", "on")


@pytest.fixture(params=[False, True], ids=["own", "pooler"])
def store(ready: str, request: pytest.FixtureRequest) -> Iterator[palaver.Store]:
    with small(ready, request.param) as store:
        yield store


@pytest.fixture(scope="module", params=[False, True], ids=["own", "pooler"])
def planner(server: Shared | Given, request: pytest.FixtureRequest) -> Iterator[palaver.Store]:
    """One for all tests that only ask how something would be read."""
    with database_of_its_own(server) as dsn, small(dsn, request.param) as store:
        yield store


@contextmanager
def small(dsn: str, pooler: bool) -> Iterator[palaver.Store]:
    """With small tables, whose size the server knows."""
    with palaver.open(dsn, pooler=pooler) as store:
        store.sessions.create("coder").commit("hello")
        with closing(connect(dsn, "default")) as other:
            other.execute("ANALYZE")
        yield store


@contextmanager
def sent() -> Iterator[list[list[str]]]:
    """What goes out, round trip by round trip."""
    trips: list[list[str]] = []
    send = Pipeline.send

    def noting(self: Pipeline, steps: Any, patience: float) -> Any:
        trips.append([text for text, _ in steps])
        return send(self, steps, patience)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pipeline, "send", noting)
        yield trips


def test_a_statement_is_planned_by_index_unless_it_says_otherwise(store: palaver.Store) -> None:
    with store.db.read() as tx:
        assert [tx.one(each) for each in (BOUND, FREE, FREE, BOUND, FREE)] == [OFF, ON, ON, OFF, ON]
    with store.db.write() as tx:
        assert [tx.one(each) for each in (FREE, BOUND)] == [ON, OFF]


def test_what_a_transaction_was_free_to_do_the_next_one_is_not(store: palaver.Store) -> None:
    for _ in range(2):
        with store.db.read() as tx:
            assert tx.one(FREE) == ON
        with store.db.read() as tx:
            assert tx.one(BOUND) == OFF


def test_a_free_statement_costs_no_round_trip(store: palaver.Store) -> None:
    with sent() as trips, store.db.read() as tx:
        for each in (FREE, BOUND, BOUND):
            tx.one(each)
    assert [len(steps) for steps in trips] == [4, 2, 1]  # with its BEGIN and settings; with a switch; alone


def test_verbs_that_write_say_nothing_of_plans(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    with sent() as trips:
        session.commit("one")
        with session.turn("two") as turn:
            for chunk in ({"type": "start"}, {"type": "text-start", "id": "t"}, {"type": "finish"}):
                turn.write(chunk)
        session.messages()
    switches = [text for steps in trips for text in steps if "enable_" in text and "search_path" not in text]
    assert trips and switches == []


def test_a_persons_own_select_is_planned_as_the_server_sees_fit(store: palaver.Store) -> None:
    assert list(store.db.query(SHOW)[1]) == [ON]


# ---------------------------------------------------------------- the plans themselves


def plan(store: palaver.Store, query: Query) -> str:
    """Of a statement as it runs in a transaction."""
    text = dialect.translate(query).text
    explain = Query(f"explain {query.name}", f"EXPLAIN {text}", f"{'-- plan: free' * free(query)}\nEXPLAIN {text}")
    explain.names, explain.bind = (), lambda params: tuple(NUMBERS.get(name, "x") for name in query.names)
    with store.db.read() as tx:
        return "\n".join(line for (line,) in tx.all(explain))


def free(query: Query) -> bool:
    return dialect.translate(query).is_free


HOT = [Q.read_head, Q.get_turn, Q.path_lines, Q.whole_messages, Q.loose_messages, Q.open_turns, Q.events_after]
HOT += [Q.way_back, Q.meeting_turn, Q.listing_on_path, Q.client_id_on_path, Q.lines_back, Q.lines_forward]
HOT += [Q.rows_of_window, Q.parts_of_window, Q.newest_loose, Q.turns_back, Q.known_turns, Q.strays_before]
HOT += [Q.history_before, Q.standing_on_way, Q.nearest_user_message]
WHOLE = [Q.export_turn_edges, Q.export_reflog_edges, Q.sessions_with_loose_rows]


@pytest.mark.parametrize("query", HOT, ids=lambda query: query.name)
def test_a_small_table_is_not_read_as_a_whole(planner: palaver.Store, query: Query) -> None:
    assert not free(query) and "Seq Scan" not in plan(planner, query)


@pytest.mark.parametrize("query", WHOLE, ids=lambda query: query.name)
def test_what_reads_everything_may_read_whole_tables(planner: palaver.Store, query: Query) -> None:
    assert free(query) and "Seq Scan" in plan(planner, query)


def test_without_the_switches_a_small_table_would_be_read_as_a_whole(
    store: palaver.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[Step] = [("SELECT set_config('enable_seqscan', 'on', true)", ())]
    monkeypatch.setattr(Statements, "_plan", lambda self, is_free: self._waiting.extend(steps))
    assert "Seq Scan" in plan(store, Q.loose_messages)


def test_rows_that_are_copied_in_after_a_free_statement_go_by_an_index(store: palaver.Store) -> None:
    found: list[Row] = []
    rows = [{"name": f"n{number}", "value": "v"} for number in range(30)]
    with store.db.write() as tx:
        assert tx.one(FREE) == ON
        tx.run_many(
            Query("many", "INSERT INTO settings (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING"),
            rows,
        )
        found = tx.all(BOUND)
    assert found == [OFF]
