"""All that can go wrong in a run, and a fair choice of it."""

from __future__ import annotations

import errno
import random
from typing import Any

from .disk import Fault

EIO, FULL = errno.EIO, errno.ENOSPC
WAYS: dict[str, list[dict[str, Any]]] = {
    "write": [
        {"error": EIO},
        {"error": EIO, "sticky": True},
        {"error": FULL},
        {"error": FULL, "sticky": True},
        {"error": FULL, "short": True},
    ],
    "read": [{"error": EIO}, {"error": EIO, "sticky": True}],
    "sync": [{"error": EIO}, {"error": EIO, "sticky": True}],
    "truncate": [{"error": EIO}, {"error": FULL, "sticky": True}],
    "open": [{"error": EIO}, {"error": errno.EMFILE, "sticky": True}],
    "delete": [{"error": EIO}, {"error": EIO, "sticky": True}],
}


def choose(counts: dict[str, int], count: int | None, seed: int) -> list[Fault]:
    """For a run that makes so many calls of each kind: every fault, or some, each way in turn."""
    groups = [
        [Fault(kind, at, **given) for at in range(1, calls + 1)]
        for kind, calls in sorted(counts.items())
        for given in WAYS[kind]
    ]
    if count is None:
        return [fault for group in groups for fault in group]
    rnd = random.Random(seed)
    left = [rnd.sample(group, len(group)) for group in groups]
    chosen: list[Fault] = []
    while len(chosen) < count and any(left):
        chosen += [group.pop() for group in left if group]
    return chosen[:count]
