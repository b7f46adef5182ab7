"""The open turns of this process: its maintenance thread looks after them, and closing the store ends them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

from ..errors import HeadConflict, TurnSealed
from . import jobs

if TYPE_CHECKING:
    from ..core.turn.open_turn import OpenTurn
    from ..streaming.save_policy import SavePolicy
    from ..turn import Turn
    from .background import Background


class OpenTurns:
    """Iterate over it for the turns. A store that never had one needs no thread, and trims nothing."""

    def __init__(self, background: Background, policy: SavePolicy, trim: jobs.Trim) -> None:
        self._background = background
        self._policy = policy
        self._turns: dict[str, Turn] = {}
        self._trim = trim
        self.flush = jobs.Flush(self)
        self.have_been = False

    def __iter__(self) -> Iterator[Turn]:
        return iter(list(self._turns.values()))

    def __len__(self) -> int:
        return len(self._turns)

    def __contains__(self, turn: object) -> bool:
        return turn in self._turns.values()

    def write_out(self, session_id: str, turn_id: str | None) -> None:
        """What is held back of a turn, or of all of a session, is on disk then."""
        for turn in self:
            if turn.session_id == session_id and turn_id in (None, turn.id) and turn.status == "streaming":
                turn.flush()

    def get(self, turn_id: str) -> Turn | None:
        return self._turns.get(turn_id)

    def track(self, state: OpenTurn, *, resumed: bool = False) -> Turn:
        from ..streaming.recorder import Recorder
        from ..turn import Turn

        recorder = Recorder(self._background.db, state, self._policy, on_hold=self._hold)
        turn = Turn(self._background.runtime, recorder, on_end=self._forget, on_begin=self._remember, resumed=resumed)
        self._remember(turn)
        return turn

    def _remember(self, turn: Turn) -> None:
        self._turns[turn.id] = turn
        if not self.have_been:
            self.have_been = True
            self._trim.soon()
            self._background.maintenance.wake()
        elif len(self._turns) == 1:  # the thread may sleep for long: nobody needed to be looked after
            self._background.maintenance.wake()

    def _hold(self) -> None:
        self.flush.soon()
        self._background.maintenance.wake()

    def _forget(self, turn: Turn) -> None:
        self._turns.pop(turn.id, None)
        self._background.index_soon()
        if self._trim.later():
            self._background.maintenance.wake()

    def end(self) -> None:
        """The first begun is the first to end (threads began them in any order); none keeps another from it."""
        with ExitStack() as stack:
            for turn in sorted(self, key=lambda turn: turn._began, reverse=True):
                stack.callback(_abort, turn)


def _abort(turn: Turn) -> None:
    """What was sealed meanwhile stays so; what lost a race is kept as a stray."""
    if turn.status != "streaming":
        return
    try:
        if not turn.give_back():
            turn.abort("the store was closed")
    except (HeadConflict, TurnSealed):
        pass
