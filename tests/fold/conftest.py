"""The oracle lives as long as the test session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .sdk import Oracle


@pytest.fixture(scope="session")
def sdk() -> Iterator[Oracle]:
    oracle = Oracle()
    yield oracle
    oracle.close()
