"""A real terminal (a pty) with a command in it: what it prints, read as it comes; keys typed; its end awaited."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from types import TracebackType

from .run import COMMAND

PATIENCE = 60.0  # seconds; a bound, not a measure


class Terminal:
    """One command, its terminal as wide as asked."""

    def __init__(
        self, env: dict[str, str], *args: str, columns: int = 80, rows: int = 24, line: list[str] | None = None
    ) -> None:
        """`line`: another program than ours."""
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.seen = ""
        self._bytes = b""
        self.process = subprocess.Popen(
            line or [*COMMAND, *args],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=env,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(slave)

    def until(self, text: str) -> str:
        """Everything printed so far, once this is in it."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.seen:
            assert time.monotonic() < deadline, f"{text!r} did not come; there was {self.seen!r}"
            if not self._read() and text not in self.seen:
                raise AssertionError(f"it ended without {text!r}: {self.seen!r}")
        return self.seen

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def end(self) -> tuple[int, str]:
        """Its exit code, and everything it printed."""
        deadline = time.monotonic() + PATIENCE
        while self._read():
            assert time.monotonic() < deadline, f"it did not end: {self.seen!r}"
        return self.process.wait(PATIENCE), self.seen

    def _read(self) -> bool:
        """Take what is there; False at the end."""
        ready, _, _ = select.select([self._master], [], [], 0.2)
        if not ready:
            return True
        try:
            data = os.read(self._master, 65536)
        except OSError:  # how Linux says that the other side is closed
            return False
        self._bytes += data
        self.seen = self._bytes.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(PATIENCE)
        os.close(self._master)


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
