"""What an fsync costs on this disk right now. It moves between 0.2 and 4 ms on a shared machine, and figures at FULL
mean nothing without it: where it is slow, everything else disappears behind it."""

from __future__ import annotations

import os
import tempfile
import time
from statistics import median


def fsync_us(times: int = 15) -> float:
    """Append 4 KB and sync, the median of several."""
    with tempfile.TemporaryFile(prefix="bench-") as file:
        spent = []
        for _ in range(times):
            file.write(b"x" * 4096)
            file.flush()
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            spent.append(time.perf_counter() - start)
    return median(spent) * 1e6
