"""A file system for SQLite that kills its own process right before the n-th write, sync, truncation or deletion.

Syncs are counted and not done: what a killed process wrote is in the system's hands, synced or not. (A power cut is
another matter, and not tried here.)
"""

from __future__ import annotations

import signal

import apsw


class Counter:
    """Counts the calls that change files. At number `kill_at` the process ends, as by `kill -9`; 0: never."""

    def __init__(self, kill_at: int) -> None:
        self.kill_at = kill_at
        self.count = 0
        self.kinds: dict[str, int] = {}

    def step(self, kind: str) -> None:
        self.count += 1
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if self.count == self.kill_at:
            signal.raise_signal(signal.SIGKILL)


class _File(apsw.VFSFile):
    def __init__(self, counter: Counter, real: str, name: object, flags: list[int]) -> None:
        self._counter = counter
        super().__init__(real, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._counter.step("write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._counter.step("sync")

    def xTruncate(self, size: int) -> None:
        self._counter.step("truncate")
        super().xTruncate(size)


class _FileSystem(apsw.VFS):
    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._real = apsw.vfs_names()[0]  # the default, before we are
        super().__init__("deadly", self._real, makedefault=True)

    def xOpen(self, name: object, flags: list[int]) -> _File:
        return _File(self._counter, self._real, name, flags)

    def xDelete(self, name: str, syncdir: bool) -> None:
        self._counter.step("delete")
        super().xDelete(name, syncdir)


_kept: list[apsw.VFS] = []  # a registered file system must outlive its connections


def count_writes(kill_at: int = 0) -> Counter:
    """From here on every SQLite connection of this process goes through the deadly file system."""
    counter = Counter(kill_at)
    _kept.append(_FileSystem(counter))
    return counter
