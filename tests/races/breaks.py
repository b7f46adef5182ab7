"""A planted bug: with it the history of a race must look wrong."""

from __future__ import annotations

import os
from collections.abc import Callable

from palaver.core.heads import Head
from palaver.core.settle import preflight
from palaver.db.engine import Tx

VARIABLE = "PALAVER_RACE_BREAK"


def expected_is_compared_before_the_dead_are_seen_to() -> None:
    """As it was: what died or came in between lands first, and the caller on top of it."""

    def ready(tx: Tx, room: preflight.Room, session_id: str, *, expected: int | None = None, **given: object) -> Head:
        head = preflight.heads.lock(tx, session_id, timestamps=0)
        if expected is not None and head.revision != expected:
            raise preflight.HeadConflict(session_id, expected, head.revision)
        return settled(tx, room, session_id, **given)  # type: ignore[arg-type]

    settled = preflight.ready
    preflight.ready = ready  # type: ignore[assignment]


BREAKS: dict[str, Callable[[], None]] = {
    work.__name__: work for work in (expected_is_compared_before_the_dead_are_seen_to,)
}


def plant_from_environment() -> None:
    name = os.environ.get(VARIABLE)
    if name:
        BREAKS[name]()
