"""The watcher of a store: one thread that waits on the engine's watch, and wakes whoever follows a session.

It starts with the first follower and ends a moment after the last. However many follow, the engine is watched once; and
of many followers only those are woken whose session has news. If the watch fails (its connection is lost, say), every
follower is woken to look for itself, where it meets the error if there is one, and the watch is begun again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator
from types import TracebackType

from ..base.clock import monotonic
from ..core.read import events
from ..db.engine import Database, Watch
from ..errors import PalaverError, StoreClosed
from ..model import Event
from .maintenance import say

_PAGE = 1_000  # events that are read at once
_TICK = 1.0  # seconds after which a watcher that nobody needs any more ends
_AGAIN = 0.25  # seconds between two looks of each follower while there is no watch
_PATIENCE = 5.0  # seconds that `end` waits for a thread that hangs on a server


class Subscription:
    """One follower of one session. `wake` is called in the watcher's thread when there may be news."""

    def __init__(self, watcher: Watcher, session_id: str, wake: Callable[[], object]) -> None:
        self._watcher = watcher
        self.session_id = session_id
        self.wake = wake
        self.seen: int | None = None  # the newest event that the watcher woke it for
        self._has_begun = False

    def begin(self) -> bool:
        """Called before a wait. True, once: it has begun now, and the follower looks again before it waits, so that
        nothing falls between its last look and the beginning."""
        if self._has_begun:
            return False
        self._has_begun = True
        self._watcher.add(self)
        return True

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._has_begun:
            self._watcher.remove(self)


class News(Subscription):
    """For a follower that waits in a thread of its own."""

    def __init__(self, watcher: Watcher, session_id: str) -> None:
        self._event = threading.Event()
        super().__init__(watcher, session_id, self._event.set)

    def __enter__(self) -> News:
        return self

    def wait(self, seconds: float | None) -> None:
        """Until there may be news, or so long; the first time, not at all."""
        if not self.begin():
            self._event.wait(seconds)
            self._event.clear()


class Quiet:
    """How long nothing came; it is over when that took longer than a follower waits."""

    def __init__(self, timeout: float | None) -> None:
        self._timeout = timeout
        self._since = monotonic()

    def begin(self) -> None:
        self._since = monotonic()

    @property
    def left(self) -> float | None:
        """Seconds; None: for ever."""
        return None if self._timeout is None else self._timeout - (monotonic() - self._since)

    @property
    def is_over(self) -> bool:
        left = self.left
        return left is not None and left <= 0


class Watcher:
    """Safe to share between threads. A forked child has no such thread: what it inherits of this does nothing."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._pid = os.getpid()
        self._guard = threading.RLock()  # a follower may be collected, and removed, by any thread at any moment
        self._followers: dict[Subscription, None] = {}
        self._thread: threading.Thread | None = None
        self._watch: Watch | None = None
        self._ended = threading.Event()
        self._failures = 0  # since the watch last worked

    def add(self, follower: Subscription) -> None:
        with self._guard:
            self._followers[follower] = None
            if self._ended.is_set():
                follower.wake()
            elif self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="palaver-watcher")
                self._thread.start()

    def remove(self, follower: Subscription) -> None:
        if os.getpid() == self._pid:
            with self._guard:
                self._followers.pop(follower, None)

    def since(self, session_id: str, cursor: int) -> list[Event]:
        """What came after a cursor, as much as is read at once."""
        with self._db.read() as tx:
            return events.since(tx, session_id, cursor, _PAGE)

    def follow(self, session_id: str, cursor: int, timeout: float | None) -> Iterator[Event]:
        """For a thread: events as they come, until nothing came for so long."""
        quiet = Quiet(timeout)
        with News(self, session_id) as news:
            while True:
                found = self.since(session_id, cursor)
                for event in found:
                    cursor = event.seq
                    yield event
                if found:
                    quiet.begin()
                elif quiet.is_over:
                    return
                else:
                    news.wait(quiet.left)

    def end(self) -> None:
        """Stop watching, and give back the connection."""
        self._ended.set()
        with self._guard:
            thread, watch = self._thread, self._watch
        if watch is not None:
            watch.interrupt()
        if thread is not None:
            thread.join(_PATIENCE)

    def wake_all(self) -> None:
        self._wake(self._present())

    # ------------------------------------------------------------ the thread

    def _run(self) -> None:
        while self._is_wanted():
            mine: Watch | None = None
            try:
                with self._db.watch() as mine:
                    self._watch_with(mine)
            except StoreClosed:
                self._ended.set()
                self.wake_all()
            except Exception as error:  # the thread must not end: followers rely on it
                self._put_off(error)
            finally:  # a thread that was started meanwhile may have a watch of its own there
                if self._watch is mine:
                    self._watch = None

    def _watch_with(self, watch: Watch) -> None:
        self._watch, self._failures = watch, 0
        self.wake_all()  # what was written before the watch began is theirs to find
        while self._is_wanted():
            if watch.wait(_TICK):
                self._tell()

    def _is_wanted(self) -> bool:
        """Whether this thread is to go on. If nobody follows, the next follower starts another."""
        with self._guard:
            if self._followers and not self._ended.is_set():
                return self._thread is threading.current_thread()
            self._thread = None
            return False

    def _put_off(self, error: Exception) -> None:
        """A connection that was lost is replaced without a word; that it cannot be, is said once."""
        self._failures += 1
        if self._failures == 2 or not isinstance(error, PalaverError):
            say(f"the store cannot be watched, and followers look every {_AGAIN} s: {error}", exc_info=error)
        self.wake_all()
        if self._failures > 1:
            self._ended.wait(_AGAIN)

    def _tell(self) -> None:
        """Somebody wrote. One follower alone looks for itself; of many, those are woken whose session has news."""
        followers = self._present()
        self._wake(followers if len(followers) < 2 else self._with_news(followers))

    def _with_news(self, followers: Collection[Subscription]) -> Collection[Subscription]:
        with self._db.read() as tx:
            newest = {session: events.newest(tx, session) for session in {each.session_id for each in followers}}
        found = [each for each in followers if each.seen != newest[each.session_id]]
        for each in found:
            each.seen = newest[each.session_id]
        return found

    def _present(self) -> Collection[Subscription]:
        with self._guard:
            return list(self._followers)

    def _wake(self, followers: Collection[Subscription]) -> None:
        for each in followers:
            try:
                each.wake()
            except RuntimeError:  # the event loop that it ran in is closed
                self.remove(each)
