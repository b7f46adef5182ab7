"""The conformance suite in memory: one handle, gone when it is closed, and otherwise the same in every respect."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import palaver
from palaver.testing import Conformance, OpenStore, closing


class TestMemory(Conformance):
    shared = False

    @pytest.fixture
    def open_store(self) -> Iterator[OpenStore]:
        yield from closing(lambda **options: palaver.open(":memory:", **options))
