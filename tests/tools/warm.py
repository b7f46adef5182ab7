"""Processes that need not load the library: each is a fork of one that has loaded it and has done nothing else.

A process of tests has at most one such parent, started when the first is wanted, gone when nobody can ask any more.
What is forked runs a module or a few lines as `python -m` and `python -c` do, with the descriptors and the environment
of whoever asked. Its parent tells how it ended, as a number on a pipe, since only a parent is told that.

A bug is planted before the library is loaded, and some tests are about a process from its first instruction: those
start an interpreter.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from functools import cache
from importlib import import_module, util
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]
MOST = 1 << 20  # bytes of a question
STOPPED = 1 << 20  # no process ends with this number
Job = dict[str, Any]


class Forked:
    """What the tests use of a `subprocess.Popen`, of a process that is a child of another one of ours."""

    def __init__(self, job: Job) -> None:
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        self._status, told = os.pipe()
        self._code: int | None = None
        theirs = [theirs_in, theirs_out, 2, told]
        socket.send_fds(_parent(os.getpid()), [json.dumps({**job, "env": dict(os.environ)}).encode()], theirs)
        for fd in (theirs_in, theirs_out, told):
            os.close(fd)
        self.stdin: IO[bytes] = os.fdopen(ours_in, "wb")
        self.stdout: IO[bytes] = os.fdopen(ours_out, "rb", 0)
        self.pid = self._number()

    def _number(self) -> int:
        return int.from_bytes(os.read(self._status, 4), "little", signed=True)

    def wait(self, timeout: float) -> int:
        while self._code is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
            self._hear()
        return self._code

    def wait_until_stopped(self) -> None:
        while not self._hear():
            assert self._code is None, f"process {self.pid} ended with {self._code}"

    def _hear(self) -> bool:
        """What became of it; whether that is a stop."""
        number = self._number()
        if number == STOPPED:
            return True
        self._code = number
        os.close(self._status)
        return False

    def poll(self) -> int | None:
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, what: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, what)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@cache
def _parent(asking: int) -> socket.socket:
    """Of the processes that this one asks for: a fork of it has one of its own."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, "-m", __name__, str(theirs.fileno())]
        parent = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
    atexit.register(_dismiss, ours, parent)
    return ours


def _dismiss(ours: socket.socket, parent: subprocess.Popen[bytes]) -> None:
    ours.close()
    parent.wait(60)


# ---------------------------------------------------------------- the parent


class Parent:
    def __init__(self, asked: socket.socket) -> None:
        self._asked = asked
        self._children: dict[int, int] = {}  # and where to tell how they ended
        self._ended, wakes = os.pipe()
        for fd in (self._ended, wakes):
            os.set_blocking(fd, False)
        self._descriptors = [asked.fileno(), self._ended, wakes]
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests: this ends when they have ended
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakes)

    def serve(self) -> Job | None:
        """In a child: what it has to do. None when nobody can ask any more."""
        while True:
            readable, _, _ = select.select([self._asked, self._ended], [], [])
            if self._ended in readable:
                os.read(self._ended, 4096)
                self._tell_who_ended()
            if self._asked in readable:
                said, fds, _, _ = socket.recv_fds(self._asked, MOST, 4)
                if not said:
                    return None
                if self._fork(fds) == 0:
                    return self._grow_up(json.loads(said), fds)

    def _fork(self, fds: list[int]) -> int:
        child = os.fork()
        if child:
            for fd in fds[:3]:
                os.close(fd)
            self._children[child] = fds[3]
            _tell(fds[3], child)
        return child

    def _tell_who_ended(self) -> None:
        while self._children:
            child, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if child == 0:
                return
            if os.WIFSTOPPED(status):
                _tell(self._children[child], STOPPED)
                continue
            told = self._children.pop(child)
            _tell(told, os.waitstatus_to_exitcode(status))
            os.close(told)

    def _grow_up(self, job: Job, fds: list[int]) -> Job:
        """Nothing of the parent is left in its child."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for fd in (*self._descriptors, *self._children.values(), fds[3]):
            os.close(fd)
        for number, fd in enumerate(fds[:3]):
            os.dup2(fd, number)
            os.close(fd)
        self._asked.detach()
        return job


def _tell(fd: int, number: int) -> None:
    try:
        os.write(fd, number.to_bytes(4, "little", signed=True))
    except BrokenPipeError:  # nobody wants to know
        pass


def become(job: Job) -> None:
    """What `python -m` and `python -c` do."""
    os.environ.clear()
    os.environ.update(job["env"])
    sys.argv[1:] = job["arguments"]
    if "module" in job:
        runpy.run_module(job["module"], run_name="__main__", alter_sys=True)
    else:
        exec(compile(job["code"], "<string>", "exec"), {"__name__": "__main__"})


def main(fd: int) -> None:
    if util.find_spec("psycopg"):
        import_module("palaver.db.postgres.engine")
    import_module("tests.tools.eager").load_everything()
    job = Parent(socket.socket(fileno=fd)).serve()
    if job is not None:
        become(job)


if __name__ == "__main__":
    main(int(sys.argv[1]))
