"""A folder in memory where there is one: for tests whose trouble is ours, so that the disk need not be real."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = "/dev/shm"


@pytest.fixture
def fast(tmp_path: Path) -> Iterator[Path]:
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)
