"""Each test on a file and on a space of a Postgres of our own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import palaver

from ..postgres.conftest import ready, server
from .places import open_store

__all__ = ["ready", "server"]


@pytest.fixture(params=["file", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("path" if request.param == "file" else "ready"))


@pytest.fixture
def store(url: str) -> Iterator[palaver.Store]:
    with open_store(url) as opened:
        yield opened


@pytest.fixture
def session(store: palaver.Store) -> palaver.Session:
    made = store.sessions.create("a")
    made.commit("one")
    return made
