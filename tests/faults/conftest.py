"""Other processes, whose disk can be made to fail, on a store in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ..crash.conftest import Other as Obedient
from ..tools.places import fast  # noqa: F401  a fixture
from ..tools.puppet import starting


class Other(Obedient):
    """Another process, whose disk can be made to fail."""

    def __init__(self, path: Path, **options: Any) -> None:
        super().__init__(path, "tests.faults.puppet", **options)

    def ended(self) -> int:
        """How the process ended, by itself."""
        return self.status


@pytest.fixture
def other(fast: Path) -> Iterator[Callable[..., Other]]:  # noqa: F811
    """Starts another process on the store of this test; all of them are dead at its end."""
    with starting(lambda **options: Other(fast / "s.db", **options)) as start:
        yield start
