"""The clock, in one place so that tests can turn it."""

from __future__ import annotations

import time

_now_ns = time.time_ns


def now_ms() -> int:
    """Epoch milliseconds."""
    return _now_ns() // 1_000_000


def monotonic() -> float:
    """Seconds that never go back, for deadlines and buffers."""
    return time.monotonic()
