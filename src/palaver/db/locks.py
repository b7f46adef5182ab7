"""Locks between processes: the writers' queue and the owner files, both plain flocks.

`flock` waits in a fair line but has no deadline, so when the lock is taken a thread of ours waits in it; the
caller waits for the thread, as long as it wants to. An owner file is locked for the life of its process: an
owner is dead exactly when its lock can be had (process ids lie across containers and restarts).
"""

from __future__ import annotations

import fcntl
import os
import re
import threading
import weakref

_INHERITED: weakref.WeakSet[Waiter | WriteQueue | OwnerFile] = weakref.WeakSet()


class Waiter:
    """A thread in line for the lock. It gives the lock back if nobody wants it any more."""

    def __init__(self, path: str) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        _INHERITED.add(self)
        self.granted = threading.Event()
        self._guard = threading.Lock()
        self._abandoned = False
        threading.Thread(target=self._stand_in_line, daemon=True, name="palaver-queue").start()

    def _stand_in_line(self) -> None:
        fcntl.flock(self.fd, fcntl.LOCK_EX)
        with self._guard:
            if self._abandoned:
                self.forget()
            else:
                self.granted.set()

    def wait(self, seconds: float) -> bool:
        """True: the lock is ours. False: it did not come in time, and will be given back when it does."""
        if self.granted.wait(max(0.0, seconds)):
            return True
        with self._guard:
            if self.granted.is_set():
                return True
            self._abandoned = True
            return False

    def forget(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class WriteQueue:
    """The line that writers of one file stand in, over all processes."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._held: Waiter | None = None
        _INHERITED.add(self)

    def acquire(self, seconds: float) -> bool:
        if self._try():
            return True
        waiter = Waiter(self.path)
        if not waiter.wait(seconds):
            return False
        self._held = waiter
        return True

    def _try(self) -> bool:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        if self._held:
            self._held.forget()
            self._held = None
        else:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def holder(self) -> str | None:
        """Who holds the lock, as far as the kernel tells."""
        inode = os.fstat(self._fd).st_ino
        try:
            with open("/proc/locks") as file:
                table = file.read()
        except OSError:
            return None
        found = re.search(rf"FLOCK\s+ADVISORY\s+WRITE (\d+) \S+:{inode} ", table)
        return f"process {found[1]}" if found else None

    def close(self) -> None:
        if self._held:
            self._held.forget()
        self.forget()

    def forget(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class OwnerFile:
    """This process's sign of life: a file that stays locked until the process ends."""

    def __init__(self, folder: str, owner: str) -> None:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.path = os.path.join(folder, owner)
        self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        fcntl.flock(self.fd, fcntl.LOCK_EX)
        _INHERITED.add(self)

    def close(self) -> None:
        if self.fd >= 0:
            os.unlink(self.path)
            self.forget()

    def forget(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _after_fork() -> None:
    """A child drops its copies of the descriptors: the locks stay with the parent, and end with it."""
    for holder in list(_INHERITED):
        holder.forget()


os.register_at_fork(after_in_child=_after_fork)


def is_dead(folder: str, owner: str) -> bool:
    """True when nobody holds the owner's lock any more."""
    try:
        fd = os.open(os.path.join(folder, owner), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True


def remove(folder: str, owner: str) -> None:
    """Take away the file of an owner that is dead."""
    try:
        os.unlink(os.path.join(folder, owner))
    except FileNotFoundError:
        pass
