"""A folder in memory, and a file of version 1."""

from __future__ import annotations

import pytest

from ..tools.places import fast
from .old import version_1

__all__ = ["fast"]


@pytest.fixture
def old(path: str) -> str:
    version_1(path)
    return path
