"""Statements of many threads in one transaction: one thread leads, and carries out what the others queued meanwhile.

A thread that finds a leader at work queues its statement and sleeps. When the leader is done, it wakes one of the
sleeping threads, which leads next: it carries out everything in the queue as one batch, and wakes the rest.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from ...base.clock import monotonic
from ..engine import Row

_MOST = 256  # statements in one transaction


class Request:
    """One statement, and how it ended."""

    __slots__ = ("_awake", "changes", "error", "is_done", "row")

    def __init__(self, row: Row) -> None:
        self.row = row
        self.changes = 0
        self.error: Exception | None = None
        self.is_done = False
        self._awake = threading.Lock()  # not a Semaphore: that is Python, and this is waited for by every chunk
        self._awake.acquire()

    def sleep(self, seconds: float) -> bool:
        """Sleep until the request is done, or its thread is to lead. False: neither in time."""
        return self._awake.acquire(timeout=max(0.0, seconds))

    def wake(self) -> None:
        try:
            self._awake.release()
        except RuntimeError:  # its thread was woken before, and has not slept since
            pass

    def end(self, changes: int, error: Exception | None = None) -> None:
        self.changes, self.error, self.is_done = changes, error, True
        self.wake()


class Combiner:
    """`carry_out` gets a batch and ends each of its requests."""

    def __init__(self, carry_out: Callable[[list[Request]], None]) -> None:
        self._carry_out = carry_out
        self._waiting: deque[Request] = deque()
        self._leading = threading.Lock()

    def submit(self, request: Request, seconds: float) -> bool:
        """True: the request is done, see `changes` and `error`. False: no leader began it in time, and none will."""
        self._waiting.append(request)
        deadline = monotonic() + seconds
        try:
            while not request.is_done:
                if self._leading.acquire(False):
                    self._lead()
                elif not request.sleep(deadline - monotonic()) and self._withdraw(request):
                    return False
        except BaseException:  # Ctrl-C: no thread waits for it any more
            self._withdraw(request)
            raise
        return True

    def _lead(self) -> None:
        try:
            batch = self._take()
            if batch:
                self._carry_out(batch)
        finally:
            self._leading.release()
            self._wake_one()

    def _take(self) -> list[Request]:
        batch: list[Request] = []
        while self._waiting and len(batch) < _MOST:
            batch.append(self._waiting.popleft())
        return batch

    def _withdraw(self, request: Request) -> bool:
        """False: a leader is carrying it out."""
        try:
            self._waiting.remove(request)
        except ValueError:
            return False
        self._wake_one()  # its thread may have been the one that was woken to lead
        return True

    def _wake_one(self) -> None:
        try:
            self._waiting[0].wake()
        except IndexError:
            pass
