"""Shared fixtures: a store in a file of its own; `long` tests, which only `make test-long` runs; files in memory."""

from __future__ import annotations

import gc
import itertools
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import palaver
from palaver.background import jobs
from palaver.base import ids
from palaver.base.clock import now_ms

from . import memory, planted
from .postgres.shared import RUN, folder_of_this_run, wait_for_the_end

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes are started: each would compile everything
sys.dont_write_bytecode = False  # and each worker, at every run, all the tests
_NUMBERS = itertools.count()
# A slow machine would meet it in the middle of a test, a quick one would not. tests/search and other processes have it.
jobs.Index._AFTER = 3_600.0


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault(RUN, str(os.getpid()))
    if config.option.basetemp is None:  # which also is what a worker is told
        config.option.basetemp = memory.move_in()


def pytest_unconfigure(config: pytest.Config) -> None:
    if os.environ[RUN] == str(os.getpid()):
        wait_for_the_end(folder_of_this_run())
        memory.move_out()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    planted.mark_long(config, items)
    if config.option.markexpr:
        return
    kept = [item for item in items if item.get_closest_marker("long") is None]
    dropped = [item for item in items if item.get_closest_marker("long") is not None]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """A megabyte that a test is given is not also its name, which every process of a run is told again and again."""
    if isinstance(val, str | bytes) and len(val) > 500:
        return f"{argname} of {len(val)}"
    return None


def pytest_collection() -> None:
    """Thousands of tests are there for good: whoever collects garbage need not look at them again and again."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 10, 10)  # a tenth of the work was to look for garbage after every 700 objects


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """A test that turned the clock far ahead leaves no ids of that time to the next one."""
    yield
    if ids._last > (now_ms() + 60_000) * ids._PER_MS:
        ids._last = 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if item.get_closest_marker("on_disk") is None:
        return (yield)
    with memory.on_disk():
        return (yield)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """In memory, unless the test is about the disk. It stays if the test fails, as pytest's does, which costs more."""
    if request.node.get_closest_marker("on_disk") is not None:
        with TemporaryDirectory(prefix="palaver-test-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)
        return
    name, failed = re.sub(r"\W", "_", request.node.name)[:30], request.session.testsfailed
    made = tmp_path_factory.mktemp(f"{name}{next(_NUMBERS)}", numbered=False)
    yield made
    if request.session.testsfailed == failed:
        shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "talks.db")


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of an empty store, to be copied: that is quicker than to make one."""
    made = tmp_path_factory.mktemp("empty") / "talks.db"
    palaver.open(made).close()
    return made


@pytest.fixture
def store(path: str, empty: Path) -> Iterator[palaver.Store]:
    shutil.copy(empty, path)
    with palaver.open(path) as opened:
        yield opened
