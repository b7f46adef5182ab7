"""Locks between processes: the writers' queue and the owner files, both plain flocks.

`flock` waits in a fair line but has no deadline, so when the lock is taken a thread of ours waits in it; the
caller waits for the thread, as long as it wants to. An owner file is locked for the life of its process: an
owner is dead when its lock can be had (process ids lie across containers and restarts). Where the file is missing,
somebody tidied up, and nothing is known yet: see owners.py.
"""

from __future__ import annotations

import fcntl
import os
import re
import threading
import time
import weakref
from contextlib import suppress

from ...base.clock import monotonic
from ...errors import StoreReadOnly
from ..os_errors import told

HELD, FREE, MISSING = range(3)
_SLICE = 0.002  # seconds
_PATIENCE = 0.25
_PASSING = 10.0  # for so long nobody waits again for who is stopped at the front
_LOOK, _SELDOM, _MANY = 0.0003, 0.02, 100
_WRITER = 120  # the byte that SQLite's writer has locked
_FRESH, _MISSED = ".new", ".missed"  # beside an owner's file: while it is made, and when it was found missing

_INHERITED: weakref.WeakSet[WriteQueue | OwnerFile] = weakref.WeakSet()
_LISTING = threading.RLock()  # whoever adds to them or goes through them; a signal's handler may do so, too


def _keep(holder: WriteQueue | OwnerFile) -> None:
    with _LISTING:
        _INHERITED.add(holder)


def _kept() -> list[WriteQueue | OwnerFile]:
    with _LISTING:
        return list(_INHERITED)


class Waiter:
    """A thread that stands in line for whoever asks. If it has its turn and nobody wants it any more, it gives it back;
    if somebody asks again before that, its place is theirs."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._guard = threading.Lock()
        self._asked = threading.Semaphore(0)
        self._granted = threading.Semaphore(0)
        self._wanted = self._ended = False
        self.is_idle = True
        threading.Thread(target=self._serve, daemon=True, name="palaver-queue").start()

    def ask(self) -> None:
        with self._guard:
            self._wanted = True
            if self.is_idle:
                self.is_idle = False
                self._asked.release()

    def came(self, seconds: float) -> bool:
        """True: the lock is ours. False: not yet; the place in line is kept."""
        return self._granted.acquire(timeout=max(0.0, seconds))

    def withdraw(self) -> bool:
        """Nobody asks any more. True: the lock came just now, and is ours."""
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
                self.is_idle = True  # last: who sees it may take the lock by itself
                if self._ended:
                    os.close(self._fd)
                    return

    def end(self) -> bool:
        """No more asking. False: the thread is still in line, and closes the file itself."""
        with self._guard:
            self._ended = True
            if self.is_idle:
                self._asked.release()
            return self.is_idle


class WriteQueue:
    """The line that writers of one file stand in, over all processes; SQLite's own lock is what keeps them apart. Who
    was at its front may go on for a moment (`_SLICE`) without standing in it again, for a writer that goes on finds its
    pages where it left them. One thread at a time asks (the engine's lock sees to that)."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._waiter: Waiter | None = None
        self._is_front = self._is_in_line = False
        self._free_until = self._passing_until = 0.0
        _keep(self)

    def enter(self, deadline: float) -> bool:
        """Before a write: to the front of the line, unless we were there a moment ago (False). Not for long: whoever is
        at the front may have been stopped there, while nobody writes. Then a write is tried from further back; and for
        a while, if it is known to be stopped, without waiting for it first."""
        now = monotonic()
        if now < self._free_until:
            return False
        is_passing = now < self._passing_until
        if self._stand(0.0 if is_passing else min(deadline - now, _PATIENCE)):
            self._passing_until = 0.0
        elif not is_passing and _is_stopped(self._front()):
            self._passing_until = monotonic() + _PASSING
        return True

    def wait(self, deadline: float, tries: int) -> None:
        """Somebody is writing. At the front, or passing it, look again soon, and not in step with others; elsewhere, go
        there."""
        if self._is_front or monotonic() < self._passing_until:
            time.sleep(min(_LOOK * 1.1 ** min(tries, _MANY), _SELDOM) * (0.75 + os.urandom(1)[0] / 512))
        else:
            self._stand(min(deadline - monotonic(), _PATIENCE))

    def leave(self) -> None:
        """A write is over."""
        if self._is_front:
            self.release()
            self._free_until = monotonic() + _SLICE
        elif self._is_in_line:
            self.let_go()

    def acquire(self, seconds: float) -> bool:
        """To the front, and nothing else will do."""
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

    def _front(self) -> int | None:
        """The process at the front, as far as the kernel tells."""
        try:
            with open("/proc/locks") as file:
                table = file.read()
        except OSError:
            return None
        inode = os.fstat(self._fd).st_ino
        found = re.search(rf"^\d+: FLOCK\s+ADVISORY\s+WRITE (\d+) \S+:{inode} ", table, re.MULTILINE)
        return int(found[1]) if found else None

    def _step_out(self) -> None:
        self._is_in_line = False
        if self._waiter is not None and self._waiter.withdraw():
            self.release()

    def _has_no_place(self) -> bool:
        """Nobody stands in line for us: the lock is free for the taking, or ours."""
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
        """After an attempt that was interrupted: whether it had the lock or not, it has it no more."""
        if self._fd >= 0:
            self._step_out()
            if self._has_no_place():
                self.release()

    def close(self) -> None:
        if self._waiter is None or self._waiter.end():
            self.forget()
        self._fd = -1  # else the waiter, still in line, closes it when it has its turn

    def forget(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _is_stopped(pid: int | None) -> bool:
    """By a signal (Ctrl-Z), or a debugger."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(") ")[2][:1] in ("T", "t")
    except OSError:
        return False


def holder(path: str) -> str | None:
    """Who is writing to a database, as far as the kernel tells: SQLite locks a byte of the log's index for it."""
    try:
        inode = os.stat(path + "-shm").st_ino
        with open("/proc/locks") as file:
            table = file.read()
    except OSError:
        return None
    found = re.search(rf"POSIX\s+ADVISORY\s+WRITE (\d+) \S+:{inode} {_WRITER} {_WRITER}$", table, re.MULTILINE)
    return f"process {found[1]}" if found else None


class OwnerFile:
    """This process's sign of life: a file that stays locked until the process ends."""

    def __init__(self, folder: str, owner: str) -> None:
        self.folder, self.owner, self.path = folder, owner, os.path.join(folder, owner)
        self.fd = -1
        self.make()
        _keep(self)

    def make(self) -> None:
        """Also again, if somebody removed it. Under another name first: nobody may find it without its lock."""
        refuse_link(self.folder)
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        fd = os.open(self.path + _FRESH, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            os.rename(self.path + _FRESH, self.path)
        except BaseException:
            os.close(fd)
            raise
        self.forget()
        self.fd = fd
        take_back(self.folder, self.owner)

    def is_there(self) -> bool:
        """Others can still find it: nobody removed or replaced it. Where we may not look, nor may they."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self.fd))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True

    def close(self) -> None:
        """If it cannot be removed any more, it stays: without its lock it says that we are gone."""
        if self.fd >= 0:
            self.forget()
            with suppress(OSError):
                os.unlink(self.path)

    def forget(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _after_fork() -> None:
    """A child drops its copies of the descriptors: the locks stay with the parent, and end with it."""
    _LISTING.release()
    for holder in _kept():
        holder.forget()


os.register_at_fork(before=_LISTING.acquire, after_in_parent=_LISTING.release, after_in_child=_after_fork)


def look(folder: str, owner: str) -> int:
    """HELD: it lives. FREE: it is dead. MISSING: somebody took its file away."""
    name = _beside(folder, owner)
    try:
        fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return MISSING
    except PermissionError:  # somebody else's: what may not be looked at is no sign of death
        return HELD
    except OSError as error:
        raise told(error, name, "nobody can tell whether its writer lives") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return HELD
    finally:
        os.close(fd)
    return FREE


def is_ours(owner: str) -> bool:
    """A store of this process is signed in under this name."""
    return owner in _ours()


def _ours() -> set[str]:
    return {sign.owner for sign in _kept() if isinstance(sign, OwnerFile) and sign.fd >= 0}


def has_only_ours(folder: str) -> bool:
    """There is no sign of another process in it, living or dead; or there is no such folder."""
    refuse_link(folder)
    try:
        found = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except PermissionError:  # what may not be looked at is no sign of death
        return False
    except OSError as error:
        raise told(error, folder, "nobody can tell whether its writers live") from None
    ours = _ours()
    return all(name in ours or name.endswith(_MISSED) for name in found)


def first_missed(folder: str, owner: str, *, noting: bool) -> float | None:
    """For how many seconds the file of an owner has been known to be missing: who looks first leaves a note beside it,
    if it may. None: this was the first look."""
    note = _beside(folder, owner + _MISSED)
    try:
        return time.time() - os.stat(note).st_mtime
    except (FileNotFoundError, NotADirectoryError):
        if noting:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            os.close(os.open(note, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    return None


def take_back(folder: str, owner: str) -> None:
    """The note that it was missing: it lives."""
    with suppress(FileNotFoundError):
        os.unlink(_beside(folder, owner + _MISSED))


def remove(folder: str, owner: str) -> None:
    """Take away what there is of an owner that is dead."""
    for end in ("", _MISSED, _FRESH):
        with suppress(FileNotFoundError):
            os.unlink(_beside(folder, owner + end))


def are_hidden(folder: str) -> bool:
    """The signs in it are another user's, and may not be looked at: whether who made them lives cannot be told."""
    refuse_link(folder)
    try:
        found = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except PermissionError:
        return True
    except OSError as error:
        raise told(error, folder, "nobody can tell whether its writers live") from None
    signs = [os.path.join(folder, name) for name in found if not name.endswith((_MISSED, _FRESH))]
    return any(os.path.exists(sign) and not os.access(sign, os.R_OK) for sign in signs)


def _beside(folder: str, name: str) -> str:
    """Of a file in the owners' folder."""
    refuse_link(folder)
    return os.path.join(folder, name)


def refuse_link(name: str) -> None:
    """What lies beside a store lies there itself: a link would let others choose which files are locked or removed."""
    if os.path.islink(name):
        raise StoreReadOnly(f"{name} is a symbolic link, which is not followed; remove it")
