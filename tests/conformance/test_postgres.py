"""The conformance suite on Postgres, unchanged: every handle opens the same space."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

import palaver
from palaver.testing import Conformance, OpenStore, closing
from tests.postgres.server import Given, Server, connect_given

_numbers = itertools.count()


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    given: Server | Given | None = connect_given()
    if given is None:
        with Server() as ours:
            yield ours.create_database()
        return
    made = given.create_database()
    yield made
    given.drop_database(made)


class TestPostgres(Conformance):
    shared = True

    @pytest.fixture
    def open_store(self, database: str) -> Iterator[OpenStore]:
        space = f"conformance-{next(_numbers)}"
        yield from closing(lambda **options: palaver.open(database, space=space, **options))
