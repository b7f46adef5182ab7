"""What the save policy holds back: chunks that are folded but not written yet (see save_policy.py)."""

from __future__ import annotations

from ..aisdk.chunks import Item
from ..base.clock import monotonic


class PendingChunks:
    """Chunks in their order, and which part each of them touched."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.parts: list[int | None] = []
        self.size = 0  # bytes
        self._since = 0.0

    def __len__(self) -> int:
        return len(self.items)

    @property
    def age(self) -> float:
        """Seconds since the oldest came."""
        return monotonic() - self._since

    def add(self, items: list[Item], touched: list[int | None]) -> None:
        if not self.items:
            self._since = monotonic()
        self.items += items
        self.parts += touched
        self.size += _bytes(items)

    def take_back(self, count: int) -> None:
        """The last ones were not accepted after all."""
        del self.items[-count:], self.parts[-count:]
        self.size = _bytes(self.items)

    def drop(self, count: int) -> None:
        """The first ones are stored."""
        del self.items[:count], self.parts[:count]
        self.size = _bytes(self.items)

    def clear(self) -> None:
        self.items, self.parts, self.size = [], [], 0


def _bytes(items: list[Item]) -> int:
    return sum(len(text) if text.isascii() else len(text.encode()) for _, text in items)
