"""The kernel's table of locks (/proc/locks): which process holds one. Where there is no such table, nobody is known."""

from __future__ import annotations

import os
import re

_WRITER = 120  # the byte of the log's index that SQLite's writer locks


def holder(path: str) -> str | None:
    """The process that is writing to a database."""
    try:
        inode = os.stat(path + "-shm").st_ino
    except OSError:
        return None
    pid = _holder_of(rf"POSIX\s+ADVISORY\s+WRITE (?P<pid>\d+) \S+:{inode} {_WRITER} {_WRITER}$")
    return None if pid is None else f"process {pid}"


def flock_holder(fd: int) -> int | None:
    """The process that holds the flock of an open file."""
    return _holder_of(rf"^\d+: FLOCK\s+ADVISORY\s+WRITE (?P<pid>\d+) \S+:{os.fstat(fd).st_ino} ")


def is_stopped(pid: int | None) -> bool:
    """The process was stopped by a signal (Ctrl-Z) or a debugger."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            _, _, behind_name = file.read().rpartition(") ")
    except OSError:
        return False
    return behind_name.startswith(("T", "t"))


def _holder_of(pattern: str) -> int | None:
    try:
        with open("/proc/locks") as file:
            found = re.search(pattern, file.read(), re.MULTILINE)
    except OSError:
        return None
    return int(found["pid"]) if found else None
