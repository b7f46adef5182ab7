"""On a Citus cluster, where one is given (`citus.py` says how): every space is on a worker, and what a user is told
about a commit is true, whichever node fails."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

import palaver
from palaver import Store, StoreBusy, StoreUnavailable
from palaver.cli.commands import doctor_server
from palaver.cli.ui import format
from palaver.db.postgres.engine import PostgresDatabase
from palaver.db.postgres.pipeline import Pipeline
from palaver.db.queries import Query
from palaver.testing import Conformance, OpenStore
from palaver.testing import closing as closing_stores

from ..tools.talk import texts
from ..tools.waiting import in_threads
from .citus import Citus, connect_citus, crash, databases, ended, nodes_of, space_node
from .crowd import NOTHING
from .engines import connect
from .load import judged, writers

GIVEN = os.environ.get("PALAVER_TEST_CITUS_DSN", "")
_numbers = itertools.count()

if not GIVEN:
    pytest.skip("PALAVER_TEST_CITUS_DSN names no Citus cluster", allow_module_level=True)

can_crash = pytest.mark.skipif(
    "PALAVER_TEST_CITUS_CRASH" not in os.environ, reason="PALAVER_TEST_CITUS_CRASH names no program that kills a worker"
)


@pytest.fixture(scope="module")
def citus() -> Citus:
    given = connect_citus()
    assert given is not None
    return given


@pytest.fixture(scope="module")
def cluster(citus: Citus) -> Iterator[str]:
    """One database for all that only need spaces."""
    yield from databases(citus)


@pytest.fixture
def space() -> str:
    return f"space-{next(_numbers)}"


@pytest.fixture
def store(cluster: str, space: str) -> Iterator[Store]:
    with palaver.open(cluster, space=space, timeout=5.0) as opened:
        yield opened


class TestCitus(Conformance):
    shared = True

    @pytest.fixture
    def open_store(self, cluster: str) -> Iterator[OpenStore]:
        space = f"conformance-{next(_numbers)}"
        yield from closing_stores(lambda **options: palaver.open(cluster, space=space, **options))


# ---------------------------------------------------------------- where things are


def engine_of(store: Store) -> PostgresDatabase:
    assert isinstance(store._engine, PostgresDatabase)
    return store._engine


def worker_of(cluster: str, store: Store) -> str:
    ((worker, is_worker),) = nodes_of(cluster, f'"{engine_of(store).schema}".heads')
    assert is_worker
    return worker


def test_spaces_are_on_workers_and_each_worker_has_some(cluster: str, citus: Citus) -> None:
    found = set()
    for number in range(4):
        with palaver.open(cluster, space=f"spread-{number}") as store:
            found.add(worker_of(cluster, store))
    assert found == set(citus.workers)


def test_every_node_holds_the_directory(cluster: str, citus: Citus, store: Store) -> None:
    assert len(nodes_of(cluster, "palaver.spaces")) == 1 + len(citus.workers)


@pytest.fixture
def before(citus: Citus) -> Iterator[str]:
    """A database whose directory is on one worker, as older versions made it; and a role that may read it."""
    for made in databases(citus):
        with closing(connect(made)) as db:
            db.execute("CREATE SCHEMA palaver")
            db.execute(
                'CREATE TABLE palaver.spaces (name TEXT COLLATE "C" PRIMARY KEY, schema_name TEXT NOT NULL UNIQUE,'
                " version BIGINT NOT NULL, created_at BIGINT NOT NULL)"
            )
        yield made


def plant_space(dsn: str, name: str) -> None:
    """A space that is there before the directory is on every node."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("palaver.db.postgres.sharing.share", lambda _: None)
        with palaver.open(dsn, space=name) as store:
            store.sessions.create(title=name)


def test_a_directory_of_before_works_and_the_next_new_space_puts_it_on_every_node(before: str, citus: Citus) -> None:
    plant_space(before, "old")
    assert len(nodes_of(before, "palaver.spaces")) == 1
    with palaver.open(before, space="old", create=False) as store:
        assert [session.title for session in store.sessions.list().sessions] == ["old"]
    palaver.open(before, space="new").close()

    assert len(nodes_of(before, "palaver.spaces")) == 1 + len(citus.workers)
    assert [space.name for space in palaver.spaces(before).list()] == ["new", "old"]
    with palaver.open(before, space="old", create=False) as store:
        assert [session.title for session in store.sessions.list().sessions] == ["old"]


def test_space_migrate_puts_a_directory_of_before_on_every_node(before: str, citus: Citus) -> None:
    plant_space(before, "old")
    with closing(connect(before)) as db:
        db.execute("GRANT SELECT ON palaver.spaces TO PUBLIC")
    assert palaver.spaces(before).migrate() == []

    assert len(nodes_of(before, "palaver.spaces")) == 1 + len(citus.workers)
    with closing(connect(before)) as db:
        assert db.execute("SELECT has_table_privilege('pg_monitor', 'palaver.spaces', 'SELECT')").fetchone() == (True,)


def test_eight_who_make_spaces_at_once_over_a_directory_of_before_lose_none(before: str, citus: Citus) -> None:
    plant_space(before, "old")
    errors: list[BaseException] = []

    def make(number: int) -> None:
        try:
            palaver.open(before, space=f"new-{number}").close()
        except BaseException as error:
            errors.append(error)

    in_threads(make, range(8))

    assert errors == []
    assert len(palaver.spaces(before).list()) == 9
    assert len(nodes_of(before, "palaver.spaces")) == 1 + len(citus.workers)


# ---------------------------------------------------------------- a commit that is lost


@contextmanager
def before_commit(accident: Callable[[Pipeline], object]) -> Iterator[None]:
    """Something happens when the next COMMIT is about to be sent."""
    send = Pipeline.send

    def after_it(self: Pipeline, steps: Any, patience: float) -> Any:
        if steps[-1][0] == "COMMIT":
            patch.setattr(Pipeline, "send", send)
            accident(self)
        return send(self, steps, patience)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pipeline, "send", after_it)
        yield


@contextmanager
def after_commit(accident: Callable[[Pipeline], object]) -> Iterator[None]:
    """It was done; something happens, and the answer is lost."""
    send = Pipeline.send

    def before_the_answer(self: Pipeline, steps: Any, patience: float) -> Any:
        results = send(self, steps, patience)
        if steps[-1][0] != "COMMIT":
            return results
        patch.setattr(Pipeline, "send", send)
        accident(self)
        self.connection.close()
        raise psycopg.OperationalError("the line was cut")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pipeline, "send", before_the_answer)
        yield


def test_a_commit_whose_backend_was_ended_before_it_is_never_said_to_be_done(cluster: str, store: Store) -> None:
    session = store.sessions.create()
    with closing(connect(cluster)) as admin:

        def end(link: Pipeline) -> None:
            admin.execute("SELECT pg_terminate_backend(%s::int, 10000)", (link.connection.info.backend_pid,))

        for number in range(20):
            with before_commit(end), pytest.raises(StoreUnavailable) as caught:
                session.commit(f"lost {number}")
            assert NOTHING in str(caught.value)
            session.commit(f"kept {number}")

    assert texts(session) == [f"kept {number}" for number in range(20)]


def test_a_commit_whose_answer_was_lost_is_said_to_be_done(store: Store) -> None:
    session = store.sessions.create()
    with after_commit(lambda _: None):
        session.commit("said")

    assert texts(session) == ["said"]


def move(cluster: str, citus: Citus, store: Store) -> None:
    """The space goes to another worker."""
    here = worker_of(cluster, store)
    host, _, port = next(worker for worker in citus.workers if worker != here).rpartition(":")
    with closing(psycopg.connect(cluster, autocommit=True)) as db:
        db.execute("SELECT citus_schema_move(%s, %s, %s::int, 'block_writes')", (engine_of(store).schema, host, port))
    assert worker_of(cluster, store) != here


def test_a_space_that_moved_after_a_commit_cannot_say_how_it_ended(cluster: str, citus: Citus, store: Store) -> None:
    session = store.sessions.create()
    with after_commit(lambda _: move(cluster, citus, store)), pytest.raises(StoreUnavailable) as caught:
        session.commit("said")

    assert "cannot say" in str(caught.value) and NOTHING not in str(caught.value)
    assert texts(session) == ["said"]


def test_a_space_that_moved_there_and_back_cannot_say_either(cluster: str, citus: Citus, store: Store) -> None:
    session = store.sessions.create()

    def there_and_back(_: Pipeline) -> None:
        move(cluster, citus, store)
        move(cluster, citus, store)

    with after_commit(there_and_back), pytest.raises(StoreUnavailable) as caught:
        session.commit("said")

    assert "cannot say" in str(caught.value)
    assert texts(session) == ["said"]


def test_a_space_that_moved_after_a_commit_was_lost_cannot_say_how_it_ended(
    cluster: str, citus: Citus, store: Store
) -> None:
    session = store.sessions.create()

    def lose_and_move(link: Pipeline) -> None:
        link.connection.close()
        move(cluster, citus, store)

    with before_commit(lose_and_move), pytest.raises(StoreUnavailable) as caught:
        session.commit("lost")

    assert "cannot say" in str(caught.value) and NOTHING not in str(caught.value)
    assert texts(session) == []


def test_all_of_a_write_has_the_number_that_is_asked_about(store: Store) -> None:
    here = Query("here", "SELECT pg_current_xact_id()::text FROM heads LIMIT 1")
    many = Query("many", "INSERT INTO settings (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING")
    store.sessions.create()
    with engine_of(store).write() as tx:
        tx.run_many(many, [{"name": f"n{number}", "value": "v"} for number in range(40)])
        row = tx.one(here)
        assert tx._ticket is not None and row == (tx._ticket.number,)
        written = tx.all(Query("written", "SELECT DISTINCT xmin::text FROM settings WHERE name LIKE 'n%'"))
        assert written == [(tx._ticket.number,)]


# ---------------------------------------------------------------- what the workers are told


@contextmanager
def head_locked(cluster: str, store: Store) -> Iterator[None]:
    with closing(psycopg.connect(cluster)) as db:
        db.execute(f'SELECT 1 FROM "{engine_of(store).schema}".heads FOR UPDATE'.encode())
        yield


@pytest.mark.parametrize("verb", ["commit", "chunk"])
def test_who_meets_a_lock_on_a_worker_is_told_that_the_store_is_busy(cluster: str, space: str, verb: str) -> None:
    with palaver.open(cluster, space=space, timeout=0.5, recover_every=None) as store:
        session = store.sessions.create()
        turn = store.sessions.create().turn("go")
        with head_locked(cluster, store), pytest.raises(StoreBusy):
            if verb == "commit":
                session.commit("said")
            else:
                turn.write({"type": "text-start", "id": "t"})
        session.commit("said")
        turn.seal()


SETTINGS = Query(
    "told",
    "SELECT current_setting('synchronous_commit'), current_setting('lock_timeout') FROM schema_migrations LIMIT 1",
)


@pytest.mark.parametrize("durability", ["boundary", "full", "normal"])
def test_every_commit_waits_for_the_workers_disk_and_patience_reaches_it(
    cluster: str, space: str, durability: str
) -> None:
    with palaver.open(cluster, space=space, timeout=7.0, durability=durability) as store:
        for hard in (False, True):
            with engine_of(store).write(hard=hard) as tx:
                assert tx.all(SETTINGS) == [("on", "7s")]


def test_doctor_asks_the_worker(cluster: str, store: Store, space: str) -> None:
    store.sessions.create().commit(os.urandom(150_000).hex())
    found = {finding.check: finding.what for finding in doctor_server.outside(cluster, space)}
    assert f"on {worker_of(cluster, store)}" in found["durability"]
    with closing(connect(cluster)) as db:
        ((held,),) = db.execute(
            "SELECT sum(citus_total_relation_size(logicalrelid)) FROM pg_dist_partition JOIN pg_class c"
            " ON c.oid = logicalrelid WHERE relnamespace = %s::regnamespace",
            (engine_of(store).schema,),
        ).fetchall()
    (said,) = [finding.what for finding in doctor_server.inside(store) if finding.check == "size"]
    assert held > 800_000 and said == f"{format.size(int(held))} with its indexes"


# ---------------------------------------------------------------- a worker that is away


@can_crash
@pytest.mark.long
@pytest.mark.parametrize("verb", ["open", "read", "commit", "chunk"])
def test_a_worker_that_is_away_for_a_moment_is_waited_for(cluster: str, space: str, verb: str) -> None:
    with palaver.open(cluster, space=space, timeout=60.0, durability="full") as store:
        session = store.sessions.create()
        session.commit("before")
        turn = store.sessions.create().turn("go")
        gone = crash(worker_of(cluster, store), 2.0)
        try:
            while _answers(cluster, store):
                pass
            if verb == "open":
                palaver.open(cluster, space=space, timeout=60.0).close()
            elif verb == "read":
                assert texts(session) == ["before"]
            elif verb == "commit":
                session.commit("said")
            else:
                turn.write({"type": "text-start", "id": "t"})
        finally:
            ended([gone])
        turn.seal()


def _answers(cluster: str, store: Store) -> bool:
    try:
        psycopg.connect(space_node(cluster, engine_of(store).schema), connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


@can_crash
@pytest.mark.long
def test_with_a_worker_away_the_spaces_of_the_others_go_on_and_all_are_listed(cluster: str, citus: Citus) -> None:
    spaces = {}
    for number in range(4):
        with palaver.open(cluster, space=f"away-{number}") as store:
            spaces[worker_of(cluster, store)] = f"away-{number}"
    here, there = citus.workers[:2]
    gone = crash(here, 5.0)
    try:
        with palaver.open(cluster, space=spaces[there], create=False, timeout=20.0) as store:
            store.sessions.create().commit("said")
        assert set(spaces.values()) <= {space.name for space in palaver.spaces(cluster).list()}
    finally:
        ended([gone])


@can_crash
@pytest.mark.long
def test_a_worker_that_crashes_before_a_commit_is_never_said_to_have_done_it(cluster: str, space: str) -> None:
    with palaver.open(cluster, space=space, timeout=60.0) as store:
        session = store.sessions.create()
        worker = worker_of(cluster, store)
        for number in range(3):
            crashes = []

            def crash_now(_: Pipeline, crashes: list[Any] = crashes) -> None:
                crashes.append(crash(worker, 0.0))
                ended(crashes)

            with before_commit(crash_now), pytest.raises(StoreUnavailable):
                session.commit(f"lost {number}")
            session.commit(f"kept {number}")
        assert texts(session) == [f"kept {number}" for number in range(3)]


@can_crash
@pytest.mark.long
def test_a_stream_that_goes_on_after_a_crash_of_its_worker_leaves_no_hole(cluster: str, space: str) -> None:
    options = {"timeout": 60.0, "save_buffer_ms": 60_000, "trim_after": 600, "recover_every": None}
    words = [f"{number} " for number in range(40)]
    with palaver.open(cluster, space=space, **options) as store:
        session = store.sessions.create()
        turn = session.turn("go")
        turn.write({"type": "text-start", "id": "t"})
        for number, word in enumerate(words):
            if number == 30:
                ended([crash(worker_of(cluster, store), 0.0)])
            turn.write({"type": "text-delta", "id": "t", "delta": word})
        chunks = [event.data for event in session.events() if event.kind == "chunk"]
        turn.seal()

    assert [data["delta"] for data in chunks if "delta" in data] == words


# ---------------------------------------------------------------- everything at once

AWAY_S = [0.0, 3.0, 8.0]  # how long a worker stays away after each crash
QUIET_S = 10.0


@can_crash
@pytest.mark.long
def test_four_processes_over_twenty_spaces_are_told_the_truth_while_workers_crash(
    cluster: str, citus: Citus, tmp_path: Path
) -> None:
    places = {}
    for number in range(20):
        with palaver.open(cluster, space=f"load-{number}") as store:
            places[f"load-{number}"] = store.sessions.create().id
    with writers(cluster, tmp_path, places, processes=4) as files:
        time.sleep(QUIET_S)
        for worker, away in zip(itertools.cycle(citus.workers), AWAY_S, strict=False):
            ended([crash(worker, away)])
            time.sleep(QUIET_S)
    complaints, seen = judged(cluster, places, files)

    print(seen)
    assert complaints == []
