"""One Node process for each way of asking, for as long as the tests run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import palaver

from .sdk import Judge


@pytest.fixture(scope="session")
def sdk() -> Iterator[Judge]:
    judge = Judge()
    yield judge
    judge.close()


@pytest.fixture
def store(path: str) -> Iterator[palaver.Store]:
    """A file of its own; what it holds after a power cut is not asked here."""
    with palaver.open(path, durability="normal") as opened:
        yield opened
