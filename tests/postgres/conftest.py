"""One Postgres for the whole run, started by the first test that asks; a database for each test."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

import palaver

from .. import memory
from .server import Given, Server, connect_given
from .shared import Shared, borrowed, folder_of_this_run

SPACES = [f"space-{number}" for number in range(24)]


@pytest.fixture(scope="session")
def server() -> Iterator[Shared | Given]:
    given = connect_given()
    if given:
        yield given
        return
    with ExitStack() as used:
        with memory.off_disk():  # a disk is slow to make the files of so many databases, and others use it as well
            shared = used.enter_context(borrowed(folder_of_this_run()))
        yield shared


@pytest.fixture
def not_given(server: Shared | Given) -> None:
    """For a test that changes more of a server than a database of its own."""
    if isinstance(server, Given):
        pytest.skip("the server is not ours to change")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One process has the server that is stopped at will."""
    for item in items:
        if isinstance(item, pytest.Function) and "ours" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("stopped"))


@pytest.fixture(scope="session")
def _stopped_at_will() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
def ours(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server that no other process uses, for a test that stops it or kills its processes; up again afterwards."""
    if connect_given():
        pytest.skip("the server is not ours to stop")
    server: Server = request.getfixturevalue("_stopped_at_will")
    server.start()
    yield server
    server.start()


@pytest.fixture
def dsn(request: pytest.FixtureRequest) -> Iterator[str]:
    """An empty database; on the server that the test stops, if it does."""
    name = "ours" if "ours" in request.fixturenames else "server"
    server: Server | Shared | Given = request.getfixturevalue(name)
    made = server.create_database()
    yield made
    if isinstance(server, Server):
        server.start()  # the test may have left it stopped, or in recovery
    server.drop_database(made)


@pytest.fixture
def ready(server: Shared | Given) -> Iterator[str]:
    """A database with an empty store in it, for a test that is not about making one."""
    with database_of_its_own(server) as made:
        yield made


@contextmanager
def database_of_its_own(server: Shared | Given) -> Iterator[str]:
    """The same for several tests that only look."""
    if isinstance(server, Given):
        made = server.create_database()
    else:
        made = server.clone_database("ready", lambda dsn: palaver.open(dsn).close())
    yield made
    server.drop_database(made)


@pytest.fixture(scope="session")
def _spaces(server: Shared | Given) -> Iterator[Iterator[tuple[str, str]]]:
    if isinstance(server, Given):
        made = server.create_database()
        yield ((made, f"space-{number}") for number in itertools.count())
        server.drop_database(made)
        return
    yield ((dsn, name) for dsn in iter(lambda: server.clone_database("spaces", _make_spaces), "") for name in SPACES)


def _make_spaces(dsn: str) -> None:
    for name in SPACES:
        palaver.open(dsn, space=name).close()


@pytest.fixture
def ready_space(_spaces: Iterator[tuple[str, str]]) -> tuple[str, str]:
    """A database and a space in it, with an empty store that no other test has seen."""
    return next(_spaces)
