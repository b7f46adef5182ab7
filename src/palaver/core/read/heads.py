"""The head of a session, and what a turn inherits from its parent: values, and reading them."""

from __future__ import annotations

from typing import NamedTuple

from ...db.engine import Tx
from ...db.queries import Q
from ...errors import TurnNotFound
from .. import damage, rows
from .jumps import Jump


class Head(NamedTuple):
    """A session's pointer. Read under its lock, created_at values end at `last_at`, event numbers at
    `event_seq`."""

    session_id: str
    turn_id: str | None
    revision: int
    event_seq: int
    last_at: int
    looked_at: int
    deleted_at: int | None
    archived_at: int | None
    open_turns: int
    has_row: int = 1
    has_turn: int = 1  # 0: it points at a turn that is not there

    def times(self, count: int) -> range:
        """So many created_at values, of those that were reserved last."""
        return range(self.last_at - count + 1, self.last_at + 1)


class Thread(NamedTuple):
    """What a turn inherits from its parent."""

    digest: bytes | None = None
    depth: int = 0
    tokens: int = 0
    messages: int = 0
    results: int | None = 0  # None, as that of `calls`: not filled yet
    calls: int | None = 0
    jump: Jump | None = None  # its own; None: not filled yet, or there is no parent


def read(tx: Tx, session_id: str) -> Head:
    """The head as it stands, without a lock. A session that another program made has none yet."""
    row = tx.one(Q.look_at_head, session=session_id)
    return Head(session_id, *(row or (None, 0, 0, 0, 0, None, None, 0)))


def thread_of(tx: Tx, turn_id: str | None) -> Thread:
    if turn_id is None:
        return Thread()
    row = rows.thread_of.one(tx, turn=turn_id)
    if row is None:
        raise TurnNotFound(turn_id, "the head of a session, or a turn, points at it; verify() says which")
    digest, place, tokens, messages, results, calls, to, depth, on, depth_on = damage.sound(row)
    jump = None if to is None else Jump(to, depth or 0, None if on is None else Jump(on, depth_on or 0))
    return Thread(digest, place, tokens, messages, results, calls, jump)
