"""The save policy: when what a turn was given is written.

`chunk`: at once, each chunk a row of its own; the two buffers say how far a part's own row, which other programs read,
may be behind. `step` and `turn`: when a step or the whole answer is finished; what was not written yet is lost with the
process. There the buffers, where given, bound how old and how large that may be.
"""

from __future__ import annotations

from ..base import arguments
from ..base.clock import monotonic
from ..errors import BadValue

_ENDS = {"chunk": frozenset[str](), "step": frozenset({"finish-step", "finish"}), "turn": frozenset({"finish"})}
_ROW_MS = 50.0
_GROWTH = 4096  # characters after which a part's row may be one more buffer time behind


class SavePolicy:
    """How one store saves."""

    def __init__(
        self, save_on: str = "chunk", save_buffer_ms: float | None = None, save_buffer_size: int | None = None
    ) -> None:
        if not isinstance(save_on, str) or save_on not in _ENDS:
            raise BadValue(f"save_on is chunk, step or turn, not {arguments.shown(save_on)}")
        for name, given in (("save_buffer_ms", save_buffer_ms), ("save_buffer_size", save_buffer_size)):
            if given is not None:
                arguments.number(name, given)
        self.at_once = save_on == "chunk"
        self.row_age = (_ROW_MS if save_buffer_ms is None else save_buffer_ms) / 1000
        self.oldest = None if self.at_once or save_buffer_ms is None else save_buffer_ms / 1000
        self.largest = save_buffer_size
        self._ends = _ENDS[save_on]

    def is_due(self, kinds: set[str], size: int, age: float) -> bool:
        """Whether chunks that are held back must be written now."""
        if kinds & self._ends or (self.largest is not None and size > self.largest):
            return True
        return self.oldest is not None and age >= self.oldest


class PartRowAge:
    """How far a part's row is behind its fold."""

    __slots__ = ("at", "saved_size", "size")

    def __init__(self) -> None:
        self.at = 0.0
        self.size = 0
        self.saved_size = 0

    def saved(self, now: float) -> None:
        self.at = now
        self.saved_size = self.size

    def is_due(self, policy: SavePolicy) -> bool:
        """Enough time and enough new text; or, for little text, a time that grows with the size."""
        new, buffer = self.size - self.saved_size, policy.row_age
        if policy.largest is not None and new > policy.largest:
            return True
        waited = monotonic() - self.at
        if waited < buffer:
            return False
        return new * 16 >= self.size or waited >= buffer * (1 + self.size / _GROWTH)
