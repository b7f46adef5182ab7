"""A store that was filled once for all tests of a file that only look, and one of its own for each that changes it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from . import talks
from .run import Cli


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    talks.small(folder / "talks.db")
    return folder / "talks.db"


@pytest.fixture(scope="session")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A store with an agent at work in it, for tests that only look."""
    folder = tmp_path_factory.mktemp("worked")
    talks.agent(folder / "talks.db")
    return Cli(folder, folder / "talks.db")


@pytest.fixture(scope="session")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attacked")
    talks.hostile(folder / "talks.db")
    return folder / "talks.db"


@pytest.fixture
def cli(tmp_path: Path, filled: Path) -> Cli:
    """On a copy of the small store, which the test may change."""
    shutil.copy(filled, tmp_path / "talks.db")
    return Cli(tmp_path, tmp_path / "talks.db")


@pytest.fixture
def bare(tmp_path: Path) -> Cli:
    """No store at all; HOME is the test's directory."""
    return Cli(tmp_path)
