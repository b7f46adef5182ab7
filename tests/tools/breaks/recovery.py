"""Bugs in how the dead are seen to; the tests of crash and races name them."""

from __future__ import annotations

from typing import Any

from ..planting import planted


@planted
def usage_counted_twice() -> None:
    """Recovery: tokens of the dead turn are added to the session once more."""
    from palaver.core.turn import response, seal
    from palaver.model import Usage

    freeze = seal.freeze

    def twice(tx: Any, turn: Any, status: str, before: Any = None) -> Any:
        usage, cost = turn.usage, turn.cost
        turn.usage = Usage()
        response.count_usage(tx, turn, usage, cost)
        return freeze(tx, turn, status, before)

    seal.freeze = twice


@planted
def recovers_for_ever() -> None:
    """Recovery: every open moves the head again."""
    from palaver.background.background import Background
    from palaver.core import heads
    from palaver.db.queries import Q

    recover = Background.recover

    def again(self: Any) -> int:
        found = recover(self)
        with self.db.write() as tx:
            asked = {"archived": 1, "waiting": 0, "ended": 0, "idle_since": None}
            for row in tx.all(Q.list_recent, before_at=2**62, before_id="", limit=100, **asked):
                head = heads.lock(tx, row[0], timestamps=0)
                heads.move(tx, head, head.turn_id, kind="recover")
        return found

    Background.recover = again  # type: ignore[method-assign]


@planted
def expected_is_compared_before_the_dead_are_seen_to() -> None:
    """As it was: what died or came in between lands first, and the caller on top of it."""

    from palaver.core.settle import preflight

    def ready(tx: Any, room: Any, session_id: str, *, expected: int | None = None, **given: Any) -> Any:
        head = preflight.heads.lock(tx, session_id, timestamps=0)
        if expected is not None and head.revision != expected:
            raise preflight.HeadConflict(session_id, expected, head.revision)
        return settled(tx, room, session_id, **given)

    settled = preflight.ready
    preflight.ready = ready  # type: ignore[assignment]
