"""Group commit: transactions of several threads that share one commit, and so one fsync.

A thread whose commit needs an fsync, while other threads wait for the engine's lock, does not commit: it leaves the
transaction open for the next thread, which works inside a savepoint of it. The last thread commits for all; each one
waits for that commit before its own call returns. A group lasts a few milliseconds: other processes wait for it.
"""

from __future__ import annotations

import threading

from ...base.clock import monotonic

MEMBERS = 64
SECONDS = 0.02
_PATIENCE = 0.002  # seconds; then a member checks whether the thread that was to commit gave up


class Group:
    """One commit that several threads wait for."""

    __slots__ = ("_done", "error", "generation", "members", "since")

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.members = 1
        self.since = monotonic()
        self.error: Exception | None = None
        self._done = threading.Event()

    @property
    def is_full(self) -> bool:
        return self.members >= MEMBERS or monotonic() - self.since > SECONDS

    def end(self, error: Exception | None) -> None:
        self.error = error
        self._done.set()

    def has_ended(self) -> bool:
        """Wait a little; True: committed, or failed with `error`."""
        return self._done.wait(_PATIENCE)
