"""A disk that fails when it is told to: the n-th write, read, sync, truncation, open or deletion of SQLite goes wrong.

The faults are where a kernel has them: SQLite's own system calls are exchanged for some that set `errno` and return
-1, or write only half. (A VFS in Python would not do: apsw hands its exceptions to the caller even where SQLite goes
on, as it does when the checkpoint after a commit fails.) All of it holds for a whole process and every connection in
it, so it lives in processes that do nothing else. Syncs that do not fail only take the time that is asked of them.
"""

from __future__ import annotations

import atexit
import ctypes
import errno
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import apsw

from .linkage import Library, point_at

_INT, _TEXT, _LONG = ctypes.c_int, ctypes.c_char_p, ctypes.c_long
_MOVES = ctypes.CFUNCTYPE(ctypes.c_ssize_t, _INT, ctypes.c_void_p, ctypes.c_size_t, _LONG, use_errno=True)
_SYNCS = ctypes.CFUNCTYPE(_INT, _INT, use_errno=True)
_CALLS = {  # what we count: (SQLite's names for it, its type in C)
    "write": (("pwrite64", "pwrite"), _MOVES),
    "read": (("pread64", "pread"), _MOVES),
    "truncate": (("ftruncate",), ctypes.CFUNCTYPE(_INT, _INT, _LONG, use_errno=True)),
    "open": (("open",), ctypes.CFUNCTYPE(_INT, _TEXT, _INT, _INT, use_errno=True)),
    "delete": (("unlink",), ctypes.CFUNCTYPE(_INT, _TEXT, use_errno=True)),
}


@dataclass(frozen=True)
class Fault:
    """The `at`-th call of a kind fails; `sticky`: and all after it, until the disk is healed."""

    kind: str
    at: int
    error: int = errno.EIO
    sticky: bool = False
    short: bool = False  # half of it is written first
    send: int = 0  # not an error: the process gets this signal instead

    @property
    def name(self) -> str:
        words = [errno.errorcode[self.error], self.kind, str(self.at)]
        return "-".join(words + ["sticky"] * self.sticky + ["short"] * self.short)


HEALTHY = Fault("nothing", 0)


class Disk:
    """One in a process. Counts the calls of each kind and lets some of them fail."""

    def __init__(self) -> None:
        self.delay = 0.0  # seconds that a sync takes
        self.arm(HEALTHY)
        self._system = apsw.VFS("faulty", "")  # only a way to the system calls of the real one, which stays in use
        self._kept: list[Any] = []  # C calls these: they must outlive every connection
        for kind, (names, shape) in _CALLS.items():
            self._exchange(kind, names, shape)
        atexit.register(self._system.xSetSystemCall, None, 0)
        self._exchange_sync()

    def arm(self, fault: Fault, room: int | None = None) -> None:
        """Count from 0 again, with this in store. `room`: how many more bytes the files may grow by."""
        self.counts: Counter[str] = Counter()
        self.fired = 0
        self.fault = fault
        self.room = room
        self._cut = False

    def heal(self) -> None:
        self.fault = HEALTHY
        self.room = None
        self._cut = False

    def _fails(self, kind: str) -> bool:
        self.counts[kind] += 1
        fault = self.fault
        if kind != fault.kind or self.counts[kind] < fault.at:
            return False
        if self.counts[kind] > fault.at and not fault.sticky:
            return False
        self.fired += 1
        if fault.send:
            signal.raise_signal(fault.send)
        return not fault.send

    # ------------------------------------------------------------ our system calls

    def _call(self, kind: str, real: Callable[..., int]) -> Callable[..., int]:
        def call(*given: Any) -> int:
            return _no(self.fault.error) if self._fails(kind) else real(*given)

        return call

    def _write(self, real: Callable[..., int]) -> Callable[..., int]:
        def write(file: int, data: int, size: int, offset: int) -> int:
            if self._cut:  # the rest of a short write
                self._cut = False
                return _no(self.fault.error)
            if self._fails("write"):
                if not self.fault.short or size < 2:
                    return _no(self.fault.error)
                self._cut, size = True, size // 2
            fits = self._fitting(file, size, offset)
            return real(file, data, fits, offset) if fits else _no(errno.ENOSPC)

        return write

    def _sync(self, file: int) -> int:
        if self.delay:
            time.sleep(self.delay)
        return 0

    def _fitting(self, file: int, size: int, offset: int) -> int:
        """How much of a write there is room for, as on a disk that fills up."""
        if self.room is None:
            return size
        growth = min(size, max(0, offset + size - os.fstat(file).st_size))
        taken = min(growth, self.room)
        self.room -= taken
        self.fired += taken < growth
        return size - growth + taken

    # ------------------------------------------------------------ putting them in place

    def _exchange(self, kind: str, names: tuple[str, ...], shape: Any) -> None:
        name = next(name for name in names if self._system.xGetSystemCall(name))
        real = shape(self._system.xGetSystemCall(name))
        ours = shape(self._write(real) if kind == "write" else self._call(kind, real))
        self._kept += [real, ours]
        assert self._system.xSetSystemCall(name, _address(ours))

    def _exchange_sync(self) -> None:
        ours = _SYNCS(self._call("sync", self._sync))
        self._kept.append(ours)
        library = Library(apsw.__file__)
        for name in ("fdatasync", "fsync"):
            for slot in library.slots(name):
                atexit.register(point_at, slot, ctypes.c_void_p.from_address(slot).value)
                point_at(slot, _address(ours))


def _no(error: int) -> int:
    ctypes.set_errno(error)
    return -1


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0
