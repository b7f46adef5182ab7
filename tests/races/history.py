"""The judge of a race: what each was told, held against what the session says afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import palaver

from ..tools.races import out_of_order, read_notes


class Landed(NamedTuple):
    revision: int
    said: list[str]  # by whom, message by message


class History:
    def __init__(self, folder: Path) -> None:
        self.asked, self.foreign = read_notes(folder)
        self.outcomes = Counter(asked.outcome for asked in self.asked)

    def problems(self, session: palaver.Session) -> Iterator[str]:
        moves = [Landed(line.revision, said_in(session, line.turn_id)) for line in session.history()[1:]]
        landed = {said: move for move in moves for said in move.said}
        yield from self._told(landed)
        yield from out_of_order(self.asked)
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


def said_in(session: palaver.Session, turn_id: str | None) -> list[str]:
    return [who_said(stored.ui()) for stored in session.messages_of(turn_id)] if turn_id else []


def who_said(message: dict[str, object]) -> str:
    parts = message["parts"]
    assert isinstance(parts, list)
    return str(parts[0]["text"]).split()[0] if parts and parts[0]["text"].split() else ""
