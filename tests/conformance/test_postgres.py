"""The conformance suite on Postgres, unchanged: every handle opens the same space."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import palaver
from palaver.testing import Conformance, OpenStore, closing


class TestPostgres(Conformance):
    shared = True

    @pytest.fixture
    def open_store(self, ready_space: tuple[str, str]) -> Iterator[OpenStore]:
        dsn, space = ready_space
        yield from closing(lambda **options: palaver.open(dsn, space=space, **options))
