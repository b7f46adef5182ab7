"""A folder in memory, and files of version 1 and 4."""

from __future__ import annotations

import pytest

from ..tools.places import fast
from .old import version_1, version_4

__all__ = ["fast"]


@pytest.fixture
def old(path: str) -> str:
    version_1(path)
    return path


@pytest.fixture
def old_4(path: str) -> str:
    version_4(path)
    return path
