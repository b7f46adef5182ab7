"""Shared fixtures: a store in a file of its own, and the `long` marker, which only `make test-long` runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import palaver
from palaver.base import ids
from palaver.base.clock import now_ms

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes are started: each would compile everything


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.markexpr:
        return
    kept = [item for item in items if item.get_closest_marker("long") is None]
    dropped = [item for item in items if item.get_closest_marker("long") is not None]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """A test that turned the clock far ahead leaves no ids of that time to the next one."""
    yield
    if ids._last > (now_ms() + 60_000) * ids._PER_MS:
        ids._last = 0


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "talks.db")


@pytest.fixture
def store(path: str) -> Iterator[palaver.Store]:
    with palaver.open(path) as opened:
        yield opened
