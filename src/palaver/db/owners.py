"""Who is alive, on one machine: each process holds the lock of its own file for as long as it lives."""

from __future__ import annotations

import os

from ..clock import now_ms
from . import locks
from .queries import Q
from .refusing import refusal

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from .database import Database, Tx


class FileLife:
    """Without a folder (in memory) this process is the only one: everybody else is dead."""

    every: float | None = None  # nothing to renew

    def __init__(self, db: Database, folder: str | None) -> None:
        self._db = db
        self._folder = folder
        self._file: locks.OwnerFile | None = None

    def begin(self, owner: str) -> None:
        if self._folder and self._file is None:
            self._file = locks.OwnerFile(self._folder, owner)
        with self._db.write() as tx:
            tx.later(Q.put_owner, id=owner, pid=os.getpid(), host=os.uname().nodename, now=now_ms())

    def holds(self) -> bool:
        """Others can see that we live. Not so where somebody tidied up."""
        return self._file is None or self._file.is_there()

    def renew(self, owner: str) -> None:
        """The kernel keeps the lock."""

    def is_dead(self, tx: Tx, owner: str) -> bool:
        return True if self._folder is None else locks.is_dead(self._folder, owner)

    def end(self, owner: str) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def forget(self, owners: list[str]) -> None:
        """The files of owners that are dead."""
        for owner in owners if self._folder else []:
            locks.remove(self._folder or "", owner)


class Onlooker:
    """Who only reads gives no sign of life, and takes nobody's away."""

    every: float | None = None

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def begin(self, owner: str) -> None:
        raise refusal()

    def holds(self) -> bool:
        return True

    def renew(self, owner: str) -> None:
        """There is nothing to renew."""

    def is_dead(self, tx: Tx, owner: str) -> bool:
        return locks.is_dead(self._folder, owner)

    def end(self, owner: str) -> None:
        """Nothing was begun."""

    def forget(self, owners: list[str]) -> None:
        """Whoever recovers does that."""
