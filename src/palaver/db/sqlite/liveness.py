"""Which writers live, on one machine: a process holds the lock of its owner file for as long as it lives."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager, suppress

from ...base.clock import monotonic, now_ms
from ..os_errors import told
from ..queries import Q
from ..refusal import refusal
from . import owner_files

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..engine import Database, Tx


_LOOKS = 5.0  # seconds between two looks that must both find the file missing
_MAKE_AGAIN = 1.0  # seconds within which a living process makes its file again


class FileLife:
    """The owner files of a store. Without a folder (in memory) this process is the only one: every other owner is dead.

    A missing file says little: a program that tidies up may have removed it. A living process makes its file again
    within a second; so an owner is dead when two looks, five seconds apart, by any processes, find its file missing. It
    is dead at once if its row is gone, or if it was an owner of this process and is no more, or if its row is older
    than this machine's start (a store is on a local disk); and where the folder has no file of any process (a copy of
    the store that came without them), if the owner was of another machine, or no process here has its number."""

    def __init__(self, db: Database, folder: str | None) -> None:
        self._db = db
        self._folder = folder
        self._file: owner_files.OwnerFile | None = None
        self._guard = threading.Lock()
        self.every: float | None = None if folder is None else _MAKE_AGAIN

    def begin(self, owner: str) -> None:
        """The file first: a process that finds the row must find the lock."""
        if self._folder and self._file is None:
            with _told(self._folder):
                self._file = owner_files.OwnerFile(self._folder, owner)
        with self._db.write() as tx:
            tx.defer(Q.put_owner, id=owner, pid=os.getpid(), host=os.uname().nodename, now=now_ms())

    def holds(self) -> bool:
        """Other processes can see that this one lives: its file is there, or was made again just now."""
        with self._guard:
            if self._file is not None and not self._file.is_there():
                with _told(self._file.folder):
                    self._file.make()
        return True

    def renew(self, owner: str) -> None:
        """The kernel keeps the lock, but any program may remove the file."""
        self.holds()

    def is_dead(self, tx: Tx, owner: str) -> bool:
        if self._folder is None:
            return True
        found = owner_files.look(self._folder, owner)
        if found != owner_files.MISSING:
            if found == owner_files.HELD:
                self._take_back(owner)
            return found == owner_files.FREE
        if _is_of_old(tx, owner, self._folder):
            return True
        with _told(self._folder):
            missed = owner_files.first_missed(self._folder, owner, noting=True)
            if missed is None and owner_files.look(self._folder, owner) == owner_files.HELD:
                owner_files.take_back(self._folder, owner)  # the file came back before our note was made
        return missed is not None and missed >= _LOOKS

    def _take_back(self, owner: str) -> None:
        """Where this process may not remove the note, another will; the owner lives either way."""
        with _told(self._folder or ""), suppress(PermissionError):
            owner_files.take_back(self._folder or "", owner)

    def end(self, owner: str, *, is_clean: bool = True) -> None:
        """Not clean: the file stays, without its lock, and tells the process that recovers our turns that we died."""
        with self._guard:
            if self._file:
                self._file.close() if is_clean else self._file.forget()
                self._file = None

    def forget(self, owners: list[str]) -> None:
        """Remove the files of owners that are dead."""
        for owner in owners if self._folder else []:
            with _told(self._folder or ""):
                owner_files.remove(self._folder or "", owner)


def _is_of_old(tx: Tx, owner: str, folder: str) -> bool:
    """The owner's row, without its file, shows that no process which runs now can be it."""
    row = tx.one(Q.owner_row, id=owner)
    if row is None:
        return True
    pid, host, started_at = row
    is_here = host == os.uname().nodename
    if is_here and pid == os.getpid() and not owner_files.is_ours(owner):
        return True
    if int(started_at) < now_ms() - time.clock_gettime(time.CLOCK_BOOTTIME) * 1000:
        return True
    return not (is_here and _is_running(int(pid))) and owner_files.has_only_ours(folder)


def _is_running(pid: int) -> bool:
    """A process has this number; whether it is the one that wrote the row, nobody can tell."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        return True
    return True


@contextmanager
def _told(folder: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise told(error, folder) from None


class Onlooker:
    """For a store that is only read: this process has no owner file, and removes none."""

    every: float | None = None

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._missed: dict[str, float] = {}

    def begin(self, owner: str) -> None:
        raise refusal()

    def holds(self) -> bool:
        return True

    def renew(self, owner: str) -> None:
        """There is nothing to renew."""

    def is_dead(self, tx: Tx, owner: str) -> bool:
        """After two looks, as in FileLife; the first is remembered here, for a reader leaves no note in the folder."""
        found = owner_files.look(self._folder, owner)
        if found != owner_files.MISSING:
            self._missed.pop(owner, None)
            return found == owner_files.FREE
        if _is_of_old(tx, owner, self._folder):
            return True
        with _told(self._folder):
            since = owner_files.first_missed(self._folder, owner, noting=False) or 0.0
        return max(since, monotonic() - self._missed.setdefault(owner, monotonic())) >= _LOOKS

    def end(self, owner: str, *, is_clean: bool = True) -> None:
        """`begin` was refused: there is nothing to end."""

    def forget(self, owners: list[str]) -> None:
        """The process that recovers does that."""
