"""A folder in memory where there is one (the faults are ours, the disk need not be real), and other processes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ..crash.conftest import Other as Obedient
from .running import start
from .waiting import until


@pytest.fixture
def fast(tmp_path: Path) -> Path:
    return tmp_path


class Other(Obedient):
    """Another process, whose disk can be made to fail."""

    def __init__(self, path: Path, options: dict[str, Any]) -> None:
        self._process = start("puppet", str(path), json.dumps(options), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._children: list[int] = []
        self._rest = b""
        self.pid: int = self._answer()

    def ask(self, name: str, *given: Any) -> None:
        """Without waiting for the answer."""
        self._send(name, *given)

    def answer(self) -> Any:
        """Of what was asked."""
        return self._answer()

    def stopped(self) -> None:
        """Wait until the process was stopped by a signal."""
        until(lambda: os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None)

    def ended(self) -> int:
        """How the process ended, by itself."""
        self._gone()
        return int(self._process.returncode)


@pytest.fixture
def other(fast: Path) -> Iterator[Callable[..., Other]]:
    """Starts another process on the store of this test; all of them are dead at its end."""
    started: list[Other] = []

    def begin(**options: Any) -> Other:
        started.append(Other(fast / "s.db", options))
        return started[-1]

    yield begin
    for one in started:
        one.clean_up()
