"""A cache of the heads that this process moved last: what the next turn hangs on, so that it need not be read again.

An entry is never out of date: a sealed turn does not change, and an entry is used only if the head still stands on its
turn, as the numbers of the session say.
"""

from __future__ import annotations

from typing import NamedTuple

from ..db.engine import Tx
from ..db.queries import Q
from ..errors import TurnNotFound
from .read import heads
from .read.heads import Thread

_MANY = 10_000


class FastPathMissed(Exception):
    """The fast path does not apply: the transaction is rolled back, and the handle calls the verb again `carefully`."""


class CachedHead(NamedTuple):
    turn_id: str
    seq: int  # of the line that moved the head there,
    link: bytes  # and its link
    thread: Thread


class HeadCache:
    """The newest head of each session, as far as this process knows."""

    def __init__(self) -> None:
        self._known: dict[str, CachedHead] = {}

    def find(self, tx: Tx, session_id: str, turn_id: str | None, seq: int) -> tuple[Thread, bytes]:
        """What a turn inherits, and the newest link, where the head stood on `turn_id` after event `seq`."""
        known = self._at(session_id, turn_id, seq)
        if known is not None:
            return known.thread, known.link
        row = tx.one(Q.newest_link, session=session_id)
        (link,) = row or (b"",)
        return _thread_of(tx, turn_id), link

    def thread(self, tx: Tx, session_id: str, turn_id: str | None, seq: int) -> Thread:
        """What a turn inherits, alone."""
        known = self._at(session_id, turn_id, seq)
        return _thread_of(tx, turn_id) if known is None else known.thread

    def _at(self, session_id: str, turn_id: str | None, seq: int) -> CachedHead | None:
        known = self._known.get(session_id)
        return known if known is not None and known.turn_id == turn_id and known.seq == seq else None

    def put(self, session_id: str, head: CachedHead) -> None:
        if len(self._known) > _MANY:
            self._known.clear()
        self._known[session_id] = head


def _thread_of(tx: Tx, turn_id: str | None) -> Thread:
    """Where the head points at a turn that is not there, the careful way mends it."""
    try:
        return heads.thread_of(tx, turn_id)
    except TurnNotFound:
        raise FastPathMissed from None
