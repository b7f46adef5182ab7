"""One Postgres for each process that runs tests, started by the first test that asks; a database for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .server import Given, Server, connect_given


@pytest.fixture(scope="session")
def server() -> Iterator[Server | Given]:
    given = connect_given()
    if given:
        yield given
        return
    with Server() as ours:
        yield ours


@pytest.fixture
def ours(server: Server | Given) -> Iterator[Server]:
    """The server, for a test that stops it or kills its processes: never somebody else's, and up again afterwards."""
    if isinstance(server, Given):
        pytest.skip("the server is not ours to stop")
    yield server
    server.start()


@pytest.fixture
def dsn(server: Server | Given) -> Iterator[str]:
    made = server.create_database()
    yield made
    if isinstance(server, Server):
        server.start()  # the test may have left it stopped, or in recovery
    server.drop_database(made)
