"""Housekeeping of a store, in a thread of its own: started with the first turn, ended by close.

It writes what a slow stream holds back longer than its policy allows, trims the chunks of turns sealed some seconds
ago, and now and then seals what writers left open that died. What it cannot do now (the disk is full, somebody holds
the lock) it tries again later; whoever needs it done meets the same error where it matters.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable

from .base.clock import monotonic
from .errors import PalaverError, StoreClosed

_IDLE, _AGAIN = 60.0, 1.0  # seconds


class Worker:
    """Wakes when told to, and when the chores said so. They are a store's method: given the time, they do what is due,
    and say in how many seconds to come again (None: when something happens)."""

    def __init__(self, chores: Callable[[float], float | None]) -> None:
        self._chores = weakref.WeakMethod(chores)
        self._news = threading.Event()
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ended = False
        self._said: set[type[Exception]] = set()

    def wake(self) -> None:
        """There is something to do, now or soon."""
        if self._thread is None:
            self._start()
        self._news.set()

    def _start(self) -> None:
        with self._guard:
            if self._thread is None and not self._ended:
                self._thread = threading.Thread(target=self._run, daemon=True, name="palaver-maintenance")
                self._thread.start()

    def end(self) -> None:
        """Stop; a chore that is under way is finished first."""
        with self._guard:
            self._ended = True
        self._news.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        pause: float | None = 0.0
        while not self._ended:
            self._news.wait(_IDLE if pause is None else pause)
            self._news.clear()
            chores = self._chores()
            if chores is None or self._ended:
                return
            pause = self._work(chores)
            del chores  # a store that nobody holds any more may go

    def _work(self, chores: Callable[[float], float | None]) -> float | None:
        try:
            return chores(monotonic())
        except StoreClosed:
            self._ended = True
        except Exception as error:  # the thread must not end: it is the only one
            self.put_off(error)
            return _AGAIN
        return None

    def put_off(self, error: Exception) -> None:
        """Say it, each kind once, until something has worked again: a server may be away for long."""
        if type(error) in self._said:
            return
        self._said.add(type(error))
        say(f"housekeeping is put off: {error}", exc_info=not isinstance(error, PalaverError))

    def has_worked(self) -> None:
        """Whatever was in the way is gone."""
        self._said.clear()


def say(sentence: str, *, exc_info: bool = False) -> None:
    """To whoever looks after the program."""
    import logging  # when it is needed: a start without it is a tenth faster

    logging.getLogger("palaver").warning("%s", sentence, exc_info=exc_info)
