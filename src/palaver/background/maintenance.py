"""Maintenance of a store: a list of jobs, in a thread of its own that starts with the first turn and ends with close.

A job says in how many seconds it is due, and is run then. What cannot be done now (the disk is full, somebody holds the
lock) is tried again later, after the other jobs; whoever needs it done meets the same error where it matters.
"""

from __future__ import annotations

import threading
import weakref
from _queue import Empty, SimpleQueue  # as `queue` has them, which imports more
from collections.abc import Sequence
from typing import Protocol

from ..base.clock import monotonic
from ..errors import PalaverError, StoreClosed

_IDLE = 60.0  # seconds
AGAIN = 1.0  # seconds after which what failed is tried again


class Job(Protocol):
    """One kind of work."""

    def due(self, now: float) -> float | None:
        """In how many seconds to run it (none left: now); None: not until somebody wakes the thread."""
        ...

    def run(self) -> None:
        """Do what is due, and no more than takes a moment. An ExceptionGroup is of several that failed alike."""
        ...


class Bell:
    """Wakes a thread. Whoever rings takes no lock: it may be the garbage collector, in the middle of anything, or the
    end of a program, at which other threads stand still with what they hold."""

    def __init__(self) -> None:
        self._rung: SimpleQueue[None] = SimpleQueue()

    def ring(self) -> None:
        self._rung.put(None)

    def wait(self, seconds: float) -> None:
        """Until it was rung since the last wait, or for so many seconds."""
        try:
            self._rung.get(timeout=seconds)
            while True:
                self._rung.get_nowait()
        except Empty:
            return


class Worker:
    """The thread that runs the jobs. It holds them only while it runs them: a store that nobody holds may go."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = jobs
        self._news = Bell()
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self.has_ended = False
        self._said: set[type[Exception]] = set()

    def wake(self) -> None:
        """There is something to do, now or soon."""
        if self._thread is None:
            self._start()
        self._news.ring()

    def _start(self) -> None:
        with self._guard:
            if self._thread is None and not self.has_ended:
                news = self._news
                myself = weakref.ref(self, lambda _: news.ring())
                self._thread = threading.Thread(
                    target=_run, args=(myself, news), daemon=True, name="palaver-maintenance"
                )
                self._thread.start()

    def end(self) -> None:
        """Stop; a job that is under way is finished first."""
        with self._guard:
            self.has_ended = True
        self._news.ring()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def run_due(self) -> float | None:
        """Run each job that is due; in how many seconds there is more."""
        due = [job for job in self._jobs if _is_due(job)]
        failed = [job for job in due if not self._has_run(job)]
        if due and not failed:
            self._said.clear()  # whatever was in the way is gone
        waits = [AGAIN if job in failed and _is_due(job) else job.due(monotonic()) for job in self._jobs]
        return min((left for left in waits if left is not None), default=None)

    def _has_run(self, job: Job) -> bool:
        try:
            job.run()
        except StoreClosed:
            self.has_ended = True
        except Exception as error:  # the thread must not end: it is the only one
            self.put_off(error)
            return False
        return True

    def put_off(self, error: Exception) -> None:
        """Say it, each kind once, until something has worked again: a server may be away for long."""
        for each in error.exceptions if isinstance(error, ExceptionGroup) else (error,):
            if type(each) not in self._said:
                self._said.add(type(each))
                say(f"housekeeping is put off: {each}", exc_info=each)


def _is_due(job: Job) -> bool:
    left = job.due(monotonic())
    return left is not None and left <= 0


def _run(worker: weakref.ref[Worker], news: Bell) -> None:
    pause: float | None = 0.0
    while True:
        news.wait(_IDLE if pause is None else max(pause, 0.0))
        found = worker()
        if found is None or found.has_ended:
            return
        pause = found.run_due()
        del found


def say(sentence: str, *, exc_info: Exception | None = None) -> None:
    """To whoever looks after the program. The trace of an error is shown if it is none of ours."""
    import logging  # when it is needed: a start without it is a tenth faster

    shown = None if isinstance(exc_info, PalaverError) else exc_info
    logging.getLogger("palaver").warning("%s", sentence, exc_info=shown)
