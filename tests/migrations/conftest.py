"""A folder in memory where there is one (the trouble is ours, the disk need not be real), and a file of version 1."""

from __future__ import annotations

from pathlib import Path

import pytest

from .old import version_1


@pytest.fixture
def fast(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def old(path: str) -> str:
    version_1(path)
    return path
