"""Behind a transaction pooler every transaction may run on a connection that another client's has just left: nobody
reads another space's sessions, and nothing is written there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import psycopg
import pytest

import palaver
from palaver.db.postgres.nodes import Node
from palaver.db.postgres.pipeline import Pipeline, Step
from palaver.db.postgres.pool import Pool
from palaver.db.postgres.transactions import Read, Statements, Write

from .pooler import Pooler
from .server import Given
from .shared import Shared

SPACES = [f"space-{number}" for number in range(10)]
CLIENTS = 20
ROUNDS = 4
PATIENCE_S = 120.0


@pytest.fixture
def pooler(dsn: str, server: Shared | Given) -> Iterator[Pooler]:
    if isinstance(server, Given):
        pytest.skip("the pooler knows sockets and trust only")
    with Pooler(dsn) as made:
        yield made


# ---------------------------------------------------------------- the pooler itself


def test_a_connection_is_a_clients_for_one_transaction(pooler: Pooler) -> None:
    with ExitStack() as open_ones:
        clients = [open_ones.enter_context(closing(psycopg.connect(pooler.dsn))) for _ in range(6)]
        pids = set()
        for client in clients:
            pids.add(client.execute("SELECT pg_backend_pid()").fetchone())
            assert client.execute("SELECT pg_backend_pid()").fetchone() in pids
            client.rollback()

    assert len(pids) <= 3
    assert pooler.exchanged >= 3


def test_what_one_sets_another_finds(pooler: Pooler) -> None:
    with closing(psycopg.connect(pooler.dsn, autocommit=True)) as one:
        for _ in range(3):
            one.execute("SET search_path = nowhere")
    with closing(psycopg.connect(pooler.dsn, autocommit=True)) as other:
        assert other.execute("SHOW search_path").fetchone() == ("nowhere",)


def test_pipelines_pass_with_one_sync_and_with_several(pooler: Pooler) -> None:
    with closing(psycopg.connect(pooler.dsn, autocommit=True, prepare_threshold=None)) as client:
        with client.pipeline() as pipeline:
            cursors = []
            for number in range(50):
                cursors.append(client.execute("SELECT %s::int", (number,)))
                if number % 7 == 0:
                    pipeline.sync()
        assert [cursor.fetchone() for cursor in cursors] == [(number,) for number in range(50)]
        with client.transaction(), client.pipeline():
            client.execute("CREATE TEMP TABLE t (n int) ON COMMIT DROP")
            big = client.execute("SELECT repeat('x', 1000000)")
        assert big.fetchone() == ("x" * 1_000_000,)


def test_a_client_that_leaves_in_the_middle_leaves_nothing(pooler: Pooler, dsn: str) -> None:
    for _ in range(5):  # more than there are connections
        client = psycopg.connect(pooler.dsn)
        client.execute("CREATE TABLE t (n int)")
        client.close()

    with closing(psycopg.connect(dsn)) as db:
        assert db.execute("SELECT to_regclass('t')").fetchone() == (None,)


# ---------------------------------------------------------------- a crowd behind it


class Client:
    """One of many: reads and writes in a space, and notes whatever is not of that space."""

    def __init__(self, dsn: str, number: int, rounds: int) -> None:
        self.space = SPACES[number % len(SPACES)]
        self.number = number
        self.reads = 0
        self.strange: list[str] = []
        self.written: list[str] = []
        self._dsn = dsn
        self._rounds = rounds

    def run(self) -> None:
        try:
            with palaver.open(self._dsn, space=self.space, pooler=True, create=False, timeout=30.0) as store:
                for round_ in range(self._rounds):
                    self._read(store)
                    self._write(store, f"{self.space} {self.number} {round_}")
        except palaver.PalaverError as error:  # what is not found here is elsewhere
            self.strange.append(f"{type(error).__name__}: {error}")

    def _read(self, store: palaver.Store) -> None:
        titles = [info.title for info in store.sessions.list().sessions]
        said = [part["text"] for m in store.sessions.find("home").messages() for part in m["parts"] if "text" in part]
        self.reads += 1 + len(said)
        self.strange += [f"title {title}" for title in titles if title != self.space]
        self.strange += [f"text {text}" for text in said if not text.startswith(self.space)]

    def _write(self, store: palaver.Store, text: str) -> None:
        store.sessions.find("home").commit(text)
        turn = store.sessions.create(title=self.space).turn(f"{text} asks")
        turn.write({"type": "text-start", "id": "t"})
        turn.write({"type": "text-delta", "id": "t", "delta": f"{text} hears"})
        turn.seal()
        self.written += [text, f"{text} asks", f"{text} hears"]


def make_spaces(dsn: str) -> None:
    for space in SPACES:
        with palaver.open(dsn, space=space) as store:
            store.sessions.create(title=space).alias("home")


def crowd(dsn: str, rounds: int = ROUNDS) -> list[Client]:
    members = [Client(dsn, number, rounds) for number in range(CLIENTS)]
    threads = [threading.Thread(target=member.run) for member in members]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert not any(thread.is_alive() for thread in threads)
    return members


def stored(dsn: str, space: str) -> list[str]:
    with palaver.open(dsn, space=space) as store:
        assert store.verify() == []
        return sorted(
            part["text"]
            for info in store.sessions
            for message in store.sessions.get(info.id).messages()
            for part in message["parts"]
        )


@pytest.mark.parametrize("rounds", [2, pytest.param(12, marks=pytest.mark.long)])
def test_twenty_clients_behind_a_pooler_each_see_and_fill_their_own_space(
    pooler: Pooler, dsn: str, rounds: int
) -> None:
    make_spaces(dsn)
    members = crowd(pooler.dsn, rounds)

    assert [strange for member in members for strange in member.strange] == []
    assert sum(member.reads for member in members) > CLIENTS * rounds
    assert pooler.exchanged > CLIENTS * rounds
    for space in SPACES:
        written = [text for member in members if member.space == space for text in member.written]
        assert stored(dsn, space) == sorted(written)


def test_a_path_that_is_set_for_the_connection_shows_other_spaces(
    pooler: Pooler, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same crowd, with the path set once for each connection, as one would without a pooler: it is noticed."""
    make_spaces(dsn)
    _set_the_path_once(monkeypatch)
    members = crowd(pooler.dsn)

    strange = [strange for member in members for strange in member.strange]
    assert any(one.startswith("title space-") for one in strange)


def _set_the_path_once(monkeypatch: pytest.MonkeyPatch) -> None:
    as_link = Pool.as_link

    def and_set_the_path(self: Pool, connection: psycopg.Connection[Any], *node: Node) -> Pipeline:
        assert self.settings is not None
        connection.execute(self.settings.at_connect().encode())
        return as_link(self, connection, *node)

    def without_it(beginning: Callable[[Statements], list[Step]]) -> Callable[[Statements], list[Step]]:
        def steps(self: Statements) -> list[Step]:
            begin, _, *others = beginning(self)
            return [begin, ("SELECT 1", ()), *others]

        return steps

    monkeypatch.setattr(Pool, "as_link", and_set_the_path)
    for kind in (Read, Write):
        monkeypatch.setattr(kind, "_beginning", without_it(kind._beginning))
