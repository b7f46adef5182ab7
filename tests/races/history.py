"""The judge of a race: what each was told, held against what the session says afterwards."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import palaver


class Asked(NamedTuple):
    who: str
    expected: int
    began: float
    ended: float
    outcome: str | None  # None: it was killed, and nobody was told


class Landed(NamedTuple):
    revision: int
    said: list[str]  # by whom, message by message


class History:
    def __init__(self, folder: Path) -> None:
        self.asked: list[Asked] = []
        self.foreign: list[str] = []
        for notes in sorted(folder.glob("notes-*")):
            self._read(notes)
        self.outcomes = Counter(asked.outcome for asked in self.asked)

    def _read(self, notes: Path) -> None:
        began: dict[str, tuple[int, float]] = {}
        for line in notes.read_text().splitlines():
            kind, who, expected, at = json.loads(line)
            if kind == "foreign":
                self.foreign.append(who)
            elif kind == "asked":
                began[who] = (expected, at)
            else:
                self.asked.append(Asked(who, *began.pop(who), at, kind))
        self.asked += [Asked(who, expected, at, at, None) for who, (expected, at) in began.items()]

    def problems(self, session: palaver.Session) -> Iterator[str]:
        moves = [Landed(line.revision, said_in(session, line.turn_id)) for line in session.history()[1:]]
        landed = {said: move for move in moves for said in move.said}
        yield from self._told(landed)
        yield from self._order()
        read = Counter(who_said(message) for message in session.messages())
        for who in self.foreign:
            if read[who] != 1:
                yield f"{who} of another program is read {read[who]} times"

    def _told(self, landed: dict[str, Landed]) -> Iterator[str]:
        """Who won stands right after the revision it named, before anything it had not read; who lost is nowhere."""
        for asked in self.asked:
            move = landed.get(asked.who)
            if asked.outcome == "won" and (move is None or move.revision != asked.expected + 1):
                yield f"{asked.who} won on {asked.expected}, and is at {move}"
            elif asked.outcome == "won" and move is not None and move.said[0] != asked.who:
                yield f"{asked.who} won on {asked.expected}, behind {move.said}"
            if asked.outcome == "lost" and move is not None:
                yield f"{asked.who} lost, and is at {move}"

    def _order(self) -> Iterator[str]:
        """Who began after another was told that it won, came after it."""
        won = sorted((asked for asked in self.asked if asked.outcome == "won"), key=lambda asked: asked.ended)
        ends, highest = [asked.ended for asked in won], list(accumulate((asked.expected for asked in won), max))
        for asked in won:
            before = bisect_left(ends, asked.began)
            if before and highest[before - 1] > asked.expected:
                yield f"{asked.who} began after revision {highest[before - 1] + 1}, and won {asked.expected + 1}"


def said_in(session: palaver.Session, turn_id: str | None) -> list[str]:
    return [who_said(stored.ui()) for stored in session.messages_of(turn_id)] if turn_id else []


def who_said(message: dict[str, object]) -> str:
    parts = message["parts"]
    assert isinstance(parts, list)
    return str(parts[0]["text"]).split()[0] if parts and parts[0]["text"].split() else ""
