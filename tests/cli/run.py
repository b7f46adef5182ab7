"""The command line as a person runs it, with a clean environment: in this process, or in one of its own.

`Cli` runs commands in this process, which takes some milliseconds. `Cli.real` runs `python -m palaver …`, for what only
a process has; test_inside.py shows that both answer the same.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from . import inside

CACHE = tempfile.mkdtemp(prefix="palaver-tests-pyc-")  # compiled once, not once per process
atexit.register(shutil.rmtree, CACHE, ignore_errors=True)
COMMAND = [sys.executable, "-m", "palaver"]


class Done(NamedTuple):
    code: int
    out: str
    err: str

    def json(self) -> Any:
        assert self.out.isascii()
        return json.loads(self.out)


def environment(home: Path, **extra: str) -> dict[str, str]:
    """Nothing of this machine but the way to Python; HOME is a directory of the test."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "VIRTUAL_ENV") if name in os.environ}
    base = {"HOME": str(home), "LC_ALL": "C.UTF-8", "TERM": "xterm", "PYTHONPYCACHEPREFIX": CACHE}
    return {**kept, **base, **extra}


class Cli:
    """Runs commands on one store."""

    def __init__(self, home: Path, store: Path | str | None = None, **extra: str) -> None:
        self.home = home
        self.env = environment(home, **({"PALAVER_STORE": str(store)} if store else {}), **extra)

    @property
    def real(self) -> Cli:
        """The same in a process of its own."""
        return RealCli(self.home, self.env)

    def __call__(self, *args: str, stdin: str | bytes = b"", timeout: float = 120, **extra: str) -> Done:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        code, out, err = self._run(args, {**self.env, **extra}, given, timeout)
        return Done(code, out.decode(), err.decode())

    def _run(
        self, args: tuple[str, ...], env: dict[str, str], stdin: bytes, timeout: float
    ) -> tuple[int, bytes, bytes]:
        changed = {name for name, value in environment(self.home).items() ^ env.items()}
        assert not [name for name in changed if name.startswith(inside.INTERPRETER)], "only a process has these: .real"
        return inside.run(args, env, self.home, stdin, timeout)

    def ok(self, *args: str, **rest: Any) -> str:
        done = self(*args, **rest)
        assert done.code == 0, done.err
        assert "Traceback" not in done.err
        return done.out

    def json(self, *args: str, **rest: Any) -> Any:
        done = self(*args, "--json", **rest)
        assert done.code == 0, done.err
        return done.json()

    def refused(self, *args: str, code: int, **rest: Any) -> str:
        """It ends with this code and one sentence on stderr."""
        done = self(*args, **rest)
        assert done.code == code, (done.code, done.out, done.err)
        assert "Traceback" not in done.err
        assert done.err.startswith("palaver: ") and done.err.count("\n") == 1, done.err
        return done.err


class RealCli(Cli):
    def __init__(self, home: Path, env: dict[str, str]) -> None:
        self.home = home
        self.env = env

    def _run(
        self, args: tuple[str, ...], env: dict[str, str], stdin: bytes, timeout: float
    ) -> tuple[int, bytes, bytes]:
        run = subprocess.run(
            [*COMMAND, *args], input=stdin, env=env, cwd=self.home, capture_output=True, timeout=timeout
        )
        return run.returncode, run.stdout, run.stderr
