"""A folder in memory, and files of version 1, 4 and 5."""

from __future__ import annotations

import pytest

from ..tools.places import fast
from .old import version_1, version_4, version_5

__all__ = ["fast"]


@pytest.fixture
def old(path: str) -> str:
    version_1(path)
    return path


@pytest.fixture
def old_4(path: str) -> str:
    version_4(path)
    return path


@pytest.fixture
def old_5(path: str) -> str:
    version_5(path)
    return path
