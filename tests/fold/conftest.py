"""The oracle lives as long as the test session; the long variants run only when asked for (`-m long`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .sdk import Oracle


@pytest.fixture(scope="session")
def sdk() -> Iterator[Oracle]:
    oracle = Oracle()
    yield oracle
    oracle.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.markexpr:
        return
    here = Path(__file__).parent
    left_out = [item for item in items if here in item.path.parents and item.get_closest_marker("long")]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)
