"""A job that is asked for while it runs is not forgotten."""

from __future__ import annotations

from palaver.background.jobs import Flush
from palaver.base.clock import monotonic


class Turn:
    """A turn that is flushed; meanwhile another one began to hold something back."""

    def __init__(self) -> None:
        self.job: Flush | None = None

    def _flush_old(self) -> float:
        assert self.job is not None
        self.job.soon()
        return 60.0


def test_a_turn_that_asks_while_another_is_flushed_is_next() -> None:
    turn = Turn()
    turn.job = job = Flush([turn])  # type: ignore[list-item]
    job.soon()
    job.run()
    left = job.due(monotonic())
    assert left is not None and left <= 0
