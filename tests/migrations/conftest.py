"""A folder in memory where there is one (the trouble is ours, the disk need not be real), and a file of version 1."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .old import version_1

MEMORY = "/dev/shm"


@pytest.fixture
def fast(tmp_path: Path) -> Iterator[Path]:
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


@pytest.fixture
def old(path: str) -> str:
    version_1(path)
    return path
