"""Which writers live: each process renews a lease in its owner's row, and the server's clock says when the lease is
over. The clocks of the client machines may differ; pids and files mean nothing across machines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...base.clock import monotonic
from ..engine import Tx
from ..queries import Q

if TYPE_CHECKING:
    from .engine import PostgresDatabase


class Leases:
    def __init__(self, db: PostgresDatabase, seconds: float) -> None:
        self._db = db
        self._seconds = seconds
        self._until = 0.0
        self.every: float | None = seconds / 3

    def begin(self, owner: str) -> None:
        self._until = monotonic() + self._seconds
        with self._db.write() as tx:
            now = _now(tx)
            until = now + round(self._seconds * 1000)
            tx.run(Q.put_lease, id=owner, pid=os.getpid(), host=os.uname().nodename, now=now, until=until)

    def holds(self) -> bool:
        """By this process's clock, read before the server's: if not, other processes may have recovered our turns."""
        return monotonic() < self._until

    def renew(self, owner: str) -> None:
        until = monotonic() + self._seconds
        with self._db.write() as tx:
            if tx.run(Q.renew_lease, id=owner, until=_now(tx) + round(self._seconds * 1000)):
                self._until = until

    def is_dead(self, tx: Tx, owner: str) -> bool:
        (until,) = tx.one(Q.lease_of, id=owner) or (None,)
        return until is None or int(until) < _now(tx)

    def end(self, owner: str, *, is_clean: bool = True) -> None:
        self._until = 0.0

    def forget(self, owners: list[str]) -> None:
        """Dead owners leave nothing but their rows."""


def _now(tx: Tx) -> int:
    ((now,),) = tx.all(Q.server_clock)
    return int(now)
