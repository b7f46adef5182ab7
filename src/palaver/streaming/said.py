"""What was said by `turn.text` and the like since the last boundary: a server that crashes may lose that much of what
it acknowledged, and whoever speaks in words has no chunks to send again. So they are kept here until they are safe.
"""

from __future__ import annotations

from ..aisdk.chunks import Item
from ..errors import ChunkGap


class Said:
    def __init__(self) -> None:
        self._first = 0  # the place of the first one
        self._items: list[Item] = []

    def note(self, items: list[Item], at: int, *, is_safe: bool) -> None:
        """Chunks that were taken at a place. Those that were written by hand in between are somebody else's to keep."""
        if is_safe or at != self._first + len(self._items):
            self._first, self._items = at, []
        if is_safe:
            self._first += len(items)
        else:
            self._items += items

    def since(self, gap: ChunkGap) -> list[Item]:
        """What a crash took, to be sent again; raises the gap if that is more than was said."""
        kept = self._items[gap.stored - self._first :] if gap.stored >= self._first else []
        if gap.stored + len(kept) < gap.at or not kept or not all(text for _, text in kept):
            raise gap
        return kept
