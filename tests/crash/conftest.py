"""Other processes that hold a store and do as they are told. All of them are dead at the end of the test."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .killing import PATIENCE, start


class Refusal(Exception):
    """What the store of another process raised; `name` is the class."""

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(f"{answer['error']}: {answer['said']}")
        self.name = answer["error"]


class Other:
    """Another process. Call it with a command; it answers, or raises what its store raised."""

    def __init__(self, path: str, *arguments: str) -> None:
        self._process = start("puppet", path, *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._children: list[int] = []
        self._rest = b""
        self.pid: int = self._answer()

    def __call__(self, name: str, *given: Any) -> Any:
        self._send(name, *given)
        return self._answer()

    def _send(self, *command: Any) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        self._process.stdin.flush()

    def _answer(self) -> Any:
        answer = json.loads(self._line())
        if "error" in answer:
            raise Refusal(answer)
        return answer["ok"]

    def _line(self) -> bytes:
        assert self._process.stdout
        deadline = time.monotonic() + PATIENCE
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "the other process does not answer"
            more = os.read(self._process.stdout.fileno(), 65536)
            assert more, "the other process is gone"
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    # ------------------------------------------------------------ life and death

    def fork(self) -> int:
        """A copy of the other process, living on by itself."""
        self._children.append(self("fork"))
        return self._children[-1]

    def start_program(self) -> int:
        self._children.append(self("start_program"))
        return self._children[-1]

    def send(self, what: signal.Signals) -> None:
        self._process.send_signal(what)

    def kill(self) -> None:
        """kill -9; gone when this returns."""
        self._process.kill()
        self._gone()

    def die_during(self, *command: Any) -> None:
        """Killed inside a write of this command, with every lock that it holds then."""
        self("die_in_the_next_write")
        self._send(*command)
        self._gone()
        assert self._process.returncode == -signal.SIGKILL

    def _gone(self) -> None:
        self._process.wait(PATIENCE)

    def clean_up(self) -> None:
        self.send(signal.SIGCONT)
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()
        for child in self._children:
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Callable[..., Other]]:
    """Starts another process on the store of this test."""
    started: list[Other] = []

    def begin(*arguments: str) -> Other:
        started.append(Other(str(tmp_path / "s.db"), *arguments))
        return started[-1]

    yield begin
    for one in started:
        one.clean_up()
