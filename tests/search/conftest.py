"""The Postgres of the run, and a store on each engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import palaver
from palaver.background import jobs

from ..postgres.conftest import _spaces, dsn, ready_space, server

__all__ = ["_spaces", "dsn", "ready_space", "server"]


@pytest.fixture(params=["file", "postgres"])
def any_store(request: pytest.FixtureRequest) -> Iterator[palaver.Store]:
    if request.param == "file":
        yield request.getfixturevalue("store")
        return
    dsn, space = request.getfixturevalue("ready_space")
    with palaver.open(dsn, space=space) as opened:
        yield opened


@pytest.fixture(autouse=True)
def what_is_sealed_is_indexed_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs.Index, "_AFTER", 1.0)
