"""A writer in a process of its own that does one thing per line of stdin, and says so on stdout when it is on disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

PATIENCE = 60.0


class Puppet:
    """Begins a turn, writes chunks, seals, or dies, when it is told to."""

    def __init__(self, path: Path | str, session: str, env: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.puppet", str(path), session],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
            cwd=Path(__file__).parent.parent.parent,
            text=True,
        )

    def do(self, verb: str, value: Any = None) -> str:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps([verb, value]) + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def say(self, text: str) -> None:
        self.do("write", {"type": "text-delta", "id": "t", "delta": text})

    def ask(self, question: str) -> None:
        """Begin a turn and the answer's first part."""
        self.do("begin", question)
        self.do("write", {"type": "start"})
        self.do("write", {"type": "text-start", "id": "t"})

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE)

    def __enter__(self) -> Puppet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        finally:
            self._process.kill()
            self._process.wait(PATIENCE)
            self._process.stdout.close()


def main() -> None:
    import palaver

    with palaver.open(sys.argv[1]) as store:
        session = store.sessions.get(sys.argv[2])
        turn: Any = None
        for line in sys.stdin:
            verb, value = json.loads(line)
            if verb == "begin":
                turn = session.turn(value)
            elif verb == "write":
                turn.write(value)
            else:
                getattr(turn, verb)()
            print("done", flush=True)


if __name__ == "__main__":
    main()
    os._exit(0)
