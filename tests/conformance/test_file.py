"""The conformance suite on a file: every handle opens the same place."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import palaver
from palaver.testing import Ancestry, Conformance, OpenStore, closing


class OnFile:
    @pytest.fixture
    def open_store(self, tmp_path: Path, empty: Path) -> Iterator[OpenStore]:
        shutil.copy(empty, tmp_path / "talks.db")
        yield from closing(lambda **options: palaver.open(tmp_path / "talks.db", **options))


class TestFile(OnFile, Conformance):
    shared = True


@pytest.mark.long
class TestFileAtFullLength(OnFile, Ancestry):
    generations = 10_000
