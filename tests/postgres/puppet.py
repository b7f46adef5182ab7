"""A writer in a process of its own, for tests that kill or pause it: one line in, one word out.

`python -m tests.postgres.puppet DSN LEASE` begins a turn and says its session. Then every line is a chunk's text; the
answer is `ok`, or the name of the error.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import palaver

ROOT = Path(__file__).parents[2]
PATIENCE_S = 20.0


class Puppet:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.session_id = self._hear()

    def write(self, text: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return self._hear()

    def _hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@contextmanager
def puppet(dsn: str, lease: float) -> Iterator[Puppet]:
    command = [sys.executable, "-m", "tests.postgres.puppet", dsn, str(lease)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Puppet(process)
        finally:
            process.kill()


def main(dsn: str, lease: str) -> None:
    store = palaver.open(dsn, lease=float(lease), recover_every=None)
    session = store.sessions.create()
    turn = session.turn("go")
    turn.write({"type": "text-start", "id": "t"})
    print(session.id, flush=True)
    for line in sys.stdin:
        try:
            turn.write({"type": "text-delta", "id": "t", "delta": line.strip() + " "})
        except palaver.PalaverError as error:
            print(type(error).__name__, flush=True)
        else:
            print("ok", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
