"""Other processes that hold a store and do as they are told. All of them are dead at the end of the test."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ..tools.puppet import LONG, Puppet, starting


class Other(Puppet):
    """Another process. Call it with a command; it answers, or raises what its store raised."""

    def __init__(self, path: Path, module: str = "tests.crash.puppet", **options: Any) -> None:
        self._children: list[int] = []
        super().__init__(module, "act", patience=LONG, path=str(path), **options)
        assert self.hear() == "ready"

    def fork(self) -> int:
        """A copy of the other process, living on by itself."""
        self._children.append(self("fork"))
        return self._children[-1]

    def start_program(self) -> int:
        self._children.append(self("start_program"))
        return self._children[-1]

    def die_during(self, command: str, *given: Any) -> None:
        """Killed inside a write of this command, with every lock that it holds then."""
        self("die_in_the_next_write")
        self.ask(command, *given)
        assert self.status == -signal.SIGKILL

    def end(self) -> None:
        super().end()
        for child in self._children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Callable[..., Other]]:
    """Starts another process on the store of this test."""
    with starting(lambda **options: Other(tmp_path / "s.db", **options)) as start:
        yield start
