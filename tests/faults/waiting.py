"""Waiting for what another process or thread will do, up to a bound."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 30.0


def until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline, "it never happens"
        time.sleep(0.005)
