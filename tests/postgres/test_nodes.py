"""A commit whose answer is lost is asked for on the node that gave it its number; where another one answers, nobody can
say. Shown on plain Postgres: the answers of another node are put into the mouth of this one."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg import errors as pg

import palaver
from palaver import Session, Store, StoreUnavailable
from palaver.db.postgres import outcome, sharing, spaces
from palaver.db.postgres.engine import PostgresDatabase
from palaver.db.postgres.nodes import WHICH
from palaver.db.postgres.pipeline import Pipeline
from palaver.db.postgres.settings import Settings

from ..tools.talk import texts
from .crowd import NOTHING
from .server import Given
from .shared import Shared

TIMEOUT_S = 5.0


@pytest.fixture(scope="module")
def database(server: Shared | Given) -> Iterator[str]:
    """One for all: what a test does is in a session of its own."""
    made = server.create_database()
    yield made
    server.drop_database(made)


@pytest.fixture(scope="module", params=[False, True], ids=["direct", "as behind a pooler"])
def store(database: str, request: pytest.FixtureRequest) -> Iterator[Store]:
    with palaver.open(database, timeout=TIMEOUT_S, pooler=request.param, recover_every=None) as opened:
        yield opened


@pytest.fixture
def session(store: Store) -> Session:
    return store.sessions.create()


@contextmanager
def failing_commit(error: BaseException, *, done: bool) -> Iterator[None]:
    """The next COMMIT is answered with this error, whether it is done or not."""
    send = Pipeline.send

    def with_an_error(self: Pipeline, steps: Any, patience: float) -> Any:
        if steps[-1][0] != "COMMIT":
            return send(self, steps, patience)
        patch.setattr(Pipeline, "send", send)
        if done:
            send(self, steps, patience)
        else:
            self.connection.execute("ROLLBACK")
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pipeline, "send", with_an_error)
        yield


# ---------------------------------------------------------------- who answers

ANOTHER = {
    "server": ("system_identifier FROM", "system_identifier + 1 FROM"),
    "timeline": ("substr(pg_walfile_name", "'7' || substr(pg_walfile_name"),
    "place of the space": ("max(tableoid)", "(max(tableoid)::bigint + 1)"),
}
LOST = psycopg.OperationalError("the line was cut")


@contextmanager
def answered_by_another(what: str) -> Iterator[None]:
    """The question is answered as if there were another server, a failover, or a space that has moved."""
    assert ANOTHER[what][0] in WHICH
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outcome, "WHICH", WHICH.replace(*ANOTHER[what]))
        yield


@pytest.mark.parametrize("what", ["server", "timeline"])
@pytest.mark.parametrize("done", [True, False], ids=["committed", "aborted"])
def test_where_another_node_answers_nobody_can_say_how_a_commit_ended(session: Session, what: str, done: bool) -> None:
    with answered_by_another(what), failing_commit(LOST, done=done), pytest.raises(StoreUnavailable) as caught:
        session.commit("said")

    assert "cannot say" in str(caught.value) and NOTHING not in str(caught.value)
    assert texts(session) == ["said"] * done


@pytest.mark.parametrize("done", [True, False], ids=["committed", "aborted"])
def test_where_the_space_is_in_another_place_nobody_can_say_how_a_commit_ended(database: str, done: bool) -> None:
    with palaver.open(database, pooler=True, timeout=TIMEOUT_S) as store:  # what leads to one server knows its place
        session = store.sessions.create()
        lost = failing_commit(LOST, done=done)
        with answered_by_another("place of the space"), lost, pytest.raises(StoreUnavailable, match="cannot say"):
            session.commit("said")
        assert texts(session) == ["said"] * done


def test_a_number_that_another_node_has_yet_to_give_out_is_not_taken_for_aborted(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcome, "_STATUS", outcome._STATUS.replace("%s::text", "('99999999' || %s::text)"))
    with answered_by_another("server"), failing_commit(LOST, done=True), pytest.raises(StoreUnavailable) as caught:
        session.commit("said")

    assert NOTHING not in str(caught.value)


def test_where_the_same_node_answers_it_is_told_how_it_ended(session: Session) -> None:
    with failing_commit(LOST, done=True):
        session.commit("said")
    with failing_commit(LOST, done=False), pytest.raises(StoreUnavailable, match=NOTHING):
        session.commit("lost")

    assert texts(session) == ["said"]


def test_the_question_goes_through_a_table_of_the_space(session: Session, store: Store) -> None:
    engine = store._engine
    assert isinstance(engine, PostgresDatabase)
    asked: list[str] = []
    execute = psycopg.Connection.execute

    def noting(self: Any, query: Any, *given: Any, **options: Any) -> Any:
        asked.append(query.decode() if isinstance(query, bytes) else str(query))
        return execute(self, query, *given, **options)

    with pytest.MonkeyPatch.context() as patch, failing_commit(LOST, done=True):
        patch.setattr(psycopg.Connection, "execute", noting)
        session.commit("said")

    (question,) = [text for text in asked if "pg_xact_status" in text]
    assert f'FROM "{engine.schema}".' in question


# ---------------------------------------------------------------- an internal error at COMMIT

WORKER_LOST = "could not commit transaction for shard 102008 on at least one node"


def test_a_commit_that_ended_in_an_internal_error_and_is_there_is_done(session: Session) -> None:
    with failing_commit(pg.InternalError_(WORKER_LOST), done=True):
        session.commit("said")

    assert texts(session) == ["said"]


def test_a_commit_that_ended_in_an_internal_error_and_is_not_there_is_not_done(session: Session) -> None:
    with failing_commit(pg.InternalError_(WORKER_LOST), done=False), pytest.raises(StoreUnavailable) as caught:
        session.commit("lost")

    assert NOTHING in str(caught.value) and WORKER_LOST in str(caught.value)
    assert texts(session) == []


@pytest.mark.parametrize("done", [True, False])
def test_a_chunk_that_ended_in_an_internal_error_is_stored_once(session: Session, done: bool) -> None:
    turn = session.turn("go")
    turn.write({"type": "text-start", "id": "t"})
    send = Pipeline.send

    def with_an_error(self: Pipeline, steps: Any, patience: float) -> Any:
        if not any("unnest" in text for text, _ in steps):
            return send(self, steps, patience)
        patch.setattr(Pipeline, "send", send)
        if done:
            send(self, steps, patience)
        raise pg.InternalError_(WORKER_LOST)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pipeline, "send", with_an_error)
        turn.write({"type": "text-delta", "id": "t", "delta": "a "})
    turn.write({"type": "text-delta", "id": "t", "delta": "b "})
    turn.seal()

    assert texts(session) == ["go", "a b "]


# ---------------------------------------------------------------- a node behind the server that is away

AWAY = pg.ConnectionFailure("connection to the remote node worker:5432 failed")


@contextmanager
def away(times: int, kind: Callable[[], psycopg.Error] = lambda: AWAY) -> Iterator[list[int]]:
    """So often a first round trip ends with the loss of a node that it needs; its connection lives. Who is counted.
    Maintenance, which may begin just now, is not met by it."""
    send, caller = Pipeline.send, threading.current_thread()
    failed: list[int] = []

    def failing(self: Pipeline, steps: Any, patience: float) -> Any:
        is_caller = threading.current_thread() is caller
        if is_caller and steps[0][0].startswith("BEGIN") and len(failed) < times:
            failed.append(self.connection.info.backend_pid)
            self.connection.execute("BEGIN")
            raise kind()
        return send(self, steps, patience)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pipeline, "send", failing)
        yield failed


VERBS: dict[str, Callable[[Session], object]] = {
    "read": texts,
    "commit": lambda session: session.commit("said"),
    "turn": lambda session: session.turn("said").seal(),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_node_that_is_away_for_a_moment_is_waited_for_on_the_same_connection(session: Session, verb: str) -> None:
    session.commit("before")
    with away(times=5) as failed:
        VERBS[verb](session)

    assert len(failed) == 5 and len(set(failed)) == 1
    assert texts(session) == ["before", "said"][: 1 if verb == "read" else 2]


def test_a_node_that_stays_away_is_said_so(database: str) -> None:
    with palaver.open(database, timeout=0.2, recover_every=None) as store:
        session = store.sessions.create()
        with away(times=10_000) as failed, pytest.raises(StoreUnavailable, match=NOTHING):
            session.commit("said")

    assert len(failed) > 1


def test_an_open_waits_for_a_node_that_is_away_for_a_moment(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = iter([AWAY, AWAY, None])
    bring_up = spaces.bring_up

    def failing(*given: Any) -> Any:
        if error := next(tries):
            raise error
        return bring_up(*given)

    monkeypatch.setattr(spaces, "bring_up", failing)
    with palaver.open(database, space="new", timeout=TIMEOUT_S) as store:
        store.sessions.create().commit("said")

    assert next(tries, "none left") == "none left"


@pytest.fixture
def busy(database: str) -> Iterator[Store]:
    """A store that has something to tidy up, now and by nobody but the test."""
    with palaver.open(database, recover_every=None) as store:
        store.sessions.create().turn("go").seal()
        store._background.maintenance.end()
        yield store


def test_housekeeping_says_once_that_the_server_is_away(busy: Store, caplog: pytest.LogCaptureFixture) -> None:
    def said() -> int:
        return sum("housekeeping is put off" in record.getMessage() for record in caplog.records)

    trim = busy._background.turns._trim
    with caplog.at_level(logging.WARNING, "palaver"), pytest.MonkeyPatch.context() as patch:

        def failing() -> bool:
            raise StoreUnavailable("away")

        for outage in (1, 2):
            trim.soon()
            with patch.context() as away:
                away.setattr(trim._slices, "trim_one", failing)
                for _ in range(3):
                    busy._background.maintenance.run_due()
            assert said() == outage
            busy._background.maintenance.run_due()


# ---------------------------------------------------------------- what workers are told


def test_on_plain_postgres_no_statement_is_added_for_workers(database: str) -> None:
    assert Settings('"here"', 2.0, "off", pooler=False).on_workers("on") == []
    with palaver.open(database) as store:
        engine = store._engine
        assert isinstance(engine, PostgresDatabase) and not engine.has_citus
        assert [len(engine.opening(level)) for level in ("on", "off")] == [1, 1]
        assert engine.look.count(",") == 2  # version, events, number


def test_on_citus_a_write_says_what_workers_are_to_hear_so_that_it_is_passed_on() -> None:
    for pooler in (False, True):
        settings = Settings('"here"', 2.0, "off", pooler=pooler, citus=True)
        assert settings.on_workers("on") == ["SET LOCAL lock_timeout = '2000'", "SET LOCAL synchronous_commit = 'on'"]
        first = settings.of_writing("on", None) if pooler else settings.at_connect()
        assert "set_config('citus.propagate_set_commands', 'local'" in first


def test_the_directory_is_put_on_every_node_only_where_there_is_citus(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "share", lambda _: pytest.fail("there is no Citus here"))
    for space in ("one", "two"):
        palaver.open(dsn, space=space).close()
    assert palaver.spaces(dsn).migrate() == []
