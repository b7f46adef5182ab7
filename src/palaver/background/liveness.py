"""Liveness: who writes. A store registers with its first turn under a name of its own; its engine keeps the sign that
it lives, and says of others whether they do."""

from __future__ import annotations

import os
import threading

from ..base import ids
from ..core.upkeep import owners
from ..db.engine import Database, Life, Tx


class Owner:
    """This store as a writer: the name that its open turns carry."""

    def __init__(self, life: Life) -> None:
        self.id = _new_name()
        self._life = life
        self._is_registered = False
        self._guard = threading.Lock()

    @property
    def every(self) -> float | None:
        """In how many seconds the sign of life is to be renewed; None: never, or not yet."""
        return self._life.every if self._is_registered else None

    def register(self) -> str:
        """From now on others see that this owner lives; its name. One that looks dead to others gets a new name."""
        with self._guard:
            if self._is_registered and not self._life.holds():
                self._life.end(self.id)
                self._is_registered, self.id = False, _new_name()
            if not self._is_registered:
                self._life.begin(self.id)
                self._is_registered = True
        return self.id

    def renew(self) -> None:
        self._life.renew(self.id)

    def is_dead(self, tx: Tx, owner: str) -> bool:
        return owner != self.id and self._life.is_dead(tx, owner)

    def forget_dead(self, db: Database) -> None:
        """Dead owners that have nothing open lose their rows, and what shows that they lived."""
        with db.read() as tx:
            dead = owners.dead(tx, self.is_dead)
        if dead:
            with db.write() as tx:
                owners.drop(tx, dead)
            self._life.forget(dead)

    def leave(self, db: Database) -> None:
        """Sign off. If the row cannot be taken away, the sign of life stays behind for whoever ends our turns."""
        is_clean = False
        try:
            if self._is_registered:
                self._is_registered = False
                with db.write() as tx:
                    owners.drop(tx, [self.id])
            is_clean = True
        finally:
            self._life.end(self.id, is_clean=is_clean)


def _new_name() -> str:
    return f"{os.getpid()}-{ids.mint('own_')}"
