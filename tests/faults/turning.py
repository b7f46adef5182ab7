"""A clock that a test turns, and what the rows must say whatever it showed. Plain SQL, no Palaver code."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from palaver.base import clock, ids

from ..tools.sql import query

HOUR, DAY = 3_600_000, 86_400_000
WRAP = 1_786_706_395_136  # 2026-08-14 11:19:55.136 UTC: twelve hex digits of ms * 4096 begin again at 0
YEAR_2100 = 4_102_444_800_000

IN_ORDER = """
SELECT m.id, m.created_at FROM turns t
  JOIN turn_entries e ON e.turn_id = t.id AND e.kind = 'message' JOIN chat_messages m ON m.id = e.ref
 WHERE t.session_id = ? ORDER BY t.depth, t.begin_seq, e.seq"""
PARTS = 'SELECT message_id, id FROM chat_parts WHERE session_id = ? ORDER BY message_id, "index"'
TURNS = "SELECT id FROM turns WHERE session_id = ? ORDER BY begin_seq, id"


class Clock:
    """Stands still unless a test moves it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, ms: int) -> None:
        self.ms = ms
        monkeypatch.setattr(ids, "_last", 0)  # and is put back: later tests live in this year
        monkeypatch.setattr(clock, "_now_ns", lambda: self.ms * 1_000_000)


def inversions(values: Sequence[Any]) -> int:
    """How many values are not above the one before."""
    return sum(later <= earlier for earlier, later in pairwise(values))


def times(path: str, session: str) -> list[int]:
    """created_at of the session's messages in the order of record."""
    return [at for _, at in query(path, IN_ORDER, session)]


def disorder(path: str, session: str) -> dict[str, int]:
    """Inversions of times, and of ids where one process made them all."""
    messages = query(path, IN_ORDER, session)
    parts: dict[str, list[str]] = {}
    for message, part in query(path, PARTS, session):
        parts.setdefault(message, []).append(part)
    return {
        "created_at": inversions([at for _, at in messages]),
        "message ids": inversions([name for name, _ in messages]),
        "part ids": sum(map(inversions, parts.values())),
        "turn ids": inversions([name for (name,) in query(path, TURNS, session)]),
    }


IN_LINE = {"created_at": 0, "message ids": 0, "part ids": 0, "turn ids": 0}
