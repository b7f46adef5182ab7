"""The cache of sessions that this process wrote last: what the next turn hangs on, so that it need not be read again.

Nothing here can be out of date: a sealed turn never changes, and a tip is used only if the head still stands on its
turn, as the numbers of the session say.
"""

from __future__ import annotations

from typing import NamedTuple

from ...db.engine import Tx
from ...db.queries import Q
from ...errors import TurnNotFound
from .. import heads
from ..heads import FastPathMissed, Thread

_MANY = 10_000


class CachedHead(NamedTuple):
    turn_id: str
    seq: int  # of the line that moved the head there,
    link: bytes  # and its link
    thread: Thread


def _thread_of(tx: Tx, turn_id: str | None) -> Thread:
    """A head that points nowhere needs a closer look."""
    try:
        return heads.thread_of(tx, turn_id)
    except TurnNotFound:
        raise FastPathMissed from None


class HeadCache:
    """The last tip of each session, as far as this process knows."""

    def __init__(self) -> None:
        self._known: dict[str, CachedHead] = {}

    def find(self, tx: Tx, session_id: str, turn_id: str | None, seq: int) -> tuple[Thread, bytes]:
        """What a turn inherits, and the newest link, where the head stood on `turn_id` after event `seq`."""
        tip = self._known.get(session_id)
        if tip is not None and tip.turn_id == turn_id and tip.seq == seq:
            return tip.thread, tip.link
        row = tx.one(Q.newest_link, session=session_id)
        return _thread_of(tx, turn_id), row[0] if row else b""

    def thread(self, tx: Tx, session_id: str, turn_id: str | None, seq: int) -> Thread:
        """What a turn inherits, alone."""
        tip = self._known.get(session_id)
        return tip.thread if tip is not None and tip[:2] == (turn_id, seq) else _thread_of(tx, turn_id)

    def put(self, session_id: str, tip: CachedHead) -> None:
        if len(self._known) > _MANY:
            self._known.clear()
        self._known[session_id] = tip
