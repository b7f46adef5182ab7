"""The history of a race for one head: what each racer notes before it asks and after it was told, and what that says.

The notes of a process that was killed are there, too: nobody knows what it was told."""

from __future__ import annotations

import json
import os
import time
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple


class Notes:
    """Of one racer, in a file of its own: a line is there when `write` returns."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, kind: str, who: str, expected: int) -> None:
        os.write(self._file, json.dumps([kind, who, expected, time.monotonic()]).encode() + b"\n")


class Asked(NamedTuple):
    """One move of the head: who asked for it, on which revision, when, and how it ended (None: nobody knows)."""

    who: str
    expected: int
    began: float
    ended: float
    outcome: str | None


def read_notes(folder: Path) -> tuple[list[Asked], list[str]]:
    """What was asked; and whose rows another program noted that it put there."""
    asked, foreign = list[Asked](), list[str]()
    for notes in sorted(folder.glob("notes-*")):
        began: dict[str, tuple[int, float]] = {}
        for line in notes.read_text().splitlines():
            kind, who, expected, at = json.loads(line)
            if kind == "foreign":
                foreign.append(who)
            elif kind == "asked":
                began[who] = (expected, at)
            else:
                asked.append(Asked(who, *began.pop(who), at, kind))
        asked += [Asked(who, expected, at, at, None) for who, (expected, at) in began.items()]
    return asked, foreign


def out_of_order(history: list[Asked]) -> Iterator[str]:
    """Who began after another was told that it won, came after it."""
    won = sorted((asked for asked in history if asked.outcome == "won"), key=lambda asked: asked.ended)
    ends, highest = [asked.ended for asked in won], list(accumulate((asked.expected for asked in won), max))
    for asked in won:
        before = bisect_left(ends, asked.began)
        if before and highest[before - 1] > asked.expected:
            yield f"{asked.who} began after revision {highest[before - 1] + 1}, and won {asked.expected + 1}"
