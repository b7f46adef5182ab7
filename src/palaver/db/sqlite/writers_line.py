"""The line that writing processes of one database stand in: a flock on the file `…-queue`.

`flock` is fair but has no deadline. So when another process holds the lock, a thread of ours blocks in `flock`, and the
caller waits for that thread for as long as it wants to. SQLite's own lock keeps writers apart; the line only decides
who tries next, and a process that was stopped at its front holds nobody up for long.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time

from ...base.clock import monotonic
from . import inherited
from .lock_table import flock_holder, is_stopped

_SLICE = 0.002  # seconds that a process which left the front may go on writing without standing in line again
_PATIENCE = 0.25  # seconds that a write waits for the front before it is tried from further back
_PASSING = 10.0  # seconds for which nobody waits again for a process that is stopped at the front
_FIRST_PAUSE, _LONGEST_PAUSE, _MANY = 0.0003, 0.02, 100  # between two tries at SQLite's lock: seconds, and tries


class Waiter:
    """A thread that blocks in `flock` for whoever asks. If it gets the lock and nobody asks any more, it unlocks; a
    caller that asks again before that gets the place the thread already has."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._guard = threading.Lock()
        self._asked = threading.Semaphore(0)
        self._granted = threading.Semaphore(0)
        self._wanted = self._ended = False
        self.is_idle = True
        threading.Thread(target=self._serve, daemon=True, name="palaver-line").start()

    def ask(self) -> None:
        with self._guard:
            self._wanted = True
            if self.is_idle:
                self.is_idle = False
                self._asked.release()

    def came(self, seconds: float) -> bool:
        """True: the lock is the caller's. False: not yet; the thread keeps its place in line."""
        return self._granted.acquire(timeout=max(0.0, seconds))

    def withdraw(self) -> bool:
        """The caller asks no more. True: the lock came just now, and is the caller's to release."""
        with self._guard:
            self._wanted = False
            return self._granted.acquire(blocking=False)

    def _serve(self) -> None:
        while True:
            self._asked.acquire()
            if self._ended:
                return
            fcntl.flock(self._fd, fcntl.LOCK_EX)
            with self._guard:
                if self._wanted:
                    self._wanted = False
                    self._granted.release()
                else:
                    fcntl.flock(self._fd, fcntl.LOCK_UN)
                self.is_idle = True  # last: a caller that sees it may lock the file itself
                if self._ended:
                    os.close(self._fd)
                    return

    def end(self) -> bool:
        """Nobody will ask again. False: the thread still blocks in `flock`, and closes the file itself."""
        with self._guard:
            self._ended = True
            if self.is_idle:
                self._asked.release()
            return self.is_idle


class WritersLine:
    """This process's place in the line. One thread at a time uses it (the engine's lock sees to that). A process that
    was at the front may write on for a moment (`_SLICE`) without standing in line again: it finds its pages in the
    cache, where the next process would have to read them."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._waiter: Waiter | None = None
        self._is_front = self._is_in_line = False
        self._free_until = self._passing_until = 0.0
        inherited.keep(self)

    def enter(self, deadline: float) -> bool:
        """Called before a write: go to the front of the line. False: not needed, this process was there a moment ago.

        The wait is short (`_PATIENCE`): the process at the front may be stopped while nobody writes. The write is then
        tried from further back; and if the kernel says that process is stopped, for a while without waiting at all."""
        now = monotonic()
        if now < self._free_until:
            return False
        is_passing = now < self._passing_until
        if self._stand(0.0 if is_passing else min(deadline - now, _PATIENCE)):
            self._passing_until = 0.0
        elif not is_passing and is_stopped(flock_holder(self._fd)):
            self._passing_until = monotonic() + _PASSING
        return True

    def wait(self, deadline: float, tries: int) -> None:
        """Called when another process has SQLite's lock. At the front, or while passing it, sleep a little before the
        next try, for a random time so that processes do not retry in step; elsewhere, wait for the front."""
        if self._is_front or monotonic() < self._passing_until:
            pause = min(_FIRST_PAUSE * 1.1 ** min(tries, _MANY), _LONGEST_PAUSE)
            time.sleep(pause * (0.75 + os.urandom(1)[0] / 512))
        else:
            self._stand(min(deadline - monotonic(), _PATIENCE))

    def leave(self) -> None:
        """Called when a write is over."""
        if self._is_front:
            self.release()
            self._free_until = monotonic() + _SLICE
        elif self._is_in_line:
            self.let_go()

    def acquire(self, seconds: float) -> bool:
        """Go to the front and nowhere else; False: not reached in time, and not in line any more."""
        if not self._stand(seconds):
            self._step_out()
        return self._is_front

    def _stand(self, seconds: float) -> bool:
        if not self._is_in_line:
            if self._has_no_place() and self._try():
                self._is_front = True
                return True
            if self._waiter is None:
                self._waiter = Waiter(self._fd)
            self._is_in_line = True
            self._waiter.ask()
        assert self._waiter is not None
        if self._waiter.came(seconds):
            self._is_front, self._is_in_line = True, False
        return self._is_front

    def _step_out(self) -> None:
        self._is_in_line = False
        if self._waiter is not None and self._waiter.withdraw():
            self.release()

    def _has_no_place(self) -> bool:
        """The waiter's thread is not in `flock`: this thread may lock the file itself."""
        return self._waiter is None or self._waiter.is_idle

    def _try(self) -> bool:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        self._is_front = False
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def let_go(self) -> None:
        """After an attempt that was interrupted: unlock, whether the attempt had the lock or not."""
        if self._fd >= 0:
            self._step_out()
            if self._has_no_place():
                self.release()

    def close(self) -> None:
        if self._waiter is None or self._waiter.end():
            self.forget()
        self._fd = -1  # else the waiter's thread, still in `flock`, closes it when it returns

    def forget(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
