"""A store that keeps everything; and one in which every verb was used, made once and copied."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import palaver

from ..tools.places import fast  # noqa: F401  a fixture
from .support import full
from .verbs import SOME, live


@pytest.fixture
def kept(path: str) -> Iterator[palaver.Store]:
    with full(path) as store:
        yield store


@pytest.fixture(scope="session")
def life(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("life") / "talks.db"
    live(str(path))
    return path


@pytest.fixture(scope="session")
def short_life(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small one, to be damaged many times."""
    path = tmp_path_factory.mktemp("short") / "talks.db"
    live(str(path), SOME)
    return path


@pytest.fixture
def lived(life: Path, path: str) -> str:
    """A copy that the test may damage."""
    shutil.copy(life, path)
    return path
