"""A column seen from the lab: a process that is told what to do, one line at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import Any

PATIENCE = 240  # seconds for one block


class Failed(Exception):
    """A column could not do its block; the others go on."""


class Column:
    def __init__(self, name: str, root: str, *, equal: bool = False) -> None:
        self.name, self.root = name, root
        self._log = open(os.path.join(root, name + ".err"), "w+")
        command = [sys.executable, "-m", "bench.worker", name, root, "equal" if equal else "own"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        try:
            first = self._read()
        except Failed:
            self.stop()
            raise
        self.missing = first.get("missing")
        self.can, self.notes = set(first.get("can", ())), first.get("notes", {})

    def __call__(self, op: str, **given: Any) -> dict[str, Any]:
        if self.missing:
            raise Failed(self.missing)
        try:
            self._process.stdin.write(json.dumps([op, given]) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise Failed(f"{self.name} died: {error!r}") from None
        return self._read()

    def _read(self) -> dict[str, Any]:
        timer = threading.Timer(PATIENCE, self._process.kill)
        timer.start()
        try:
            line = self._process.stdout.readline()
        finally:
            timer.cancel()
        if not line:
            self._log.seek(0)
            raise Failed(f"{self.name} died: {self._log.read()[-300:]}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def stop(self) -> None:
        try:
            self._process.stdin.close()
            self._process.wait(30)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()
