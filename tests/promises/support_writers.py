"""Processes that write one file against each other, and what their history says.

A process runs one of the jobs of support_writers_child: it prints `ready`, waits for a line, works, prints a report. In
a race every process notes each commit in a file of its own, before and after; so the history of one that was killed is
known too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..tools.puppet import LONG, Crew
from ..tools.races import Asked, out_of_order, read_notes
from ..tools.sql import reading

CREW = Crew("tests.promises.support_writers_child", LONG)
PIECES = 3  # messages of a commit: all of them are there, or none


# ---------------------------------------------------------------- plain SQL


# ---------------------------------------------------------------- the history of a race


def commit_of(who: str) -> list[dict[str, Any]]:
    roles = ("user", "assistant", "user")
    return [{"role": roles[n], "parts": [{"type": "text", "text": f"{who}/{n}"}]} for n in range(PIECES)]


class Race:
    """Moves of one session's head that many wanted to make: what each was told, and what the file holds."""

    def __init__(self, history: list[Asked], moves: list[tuple[int, str]], written: list[str]) -> None:
        self.history = history
        self.moves = moves  # (revision, text of a message in its turn)
        self.written = Counter(text.partition("/")[0] for text in written)  # messages anywhere in the file
        self.outcomes = Counter(asked.outcome for asked in history)

    def problems(self) -> list[str]:
        return [*self._landed(), *self._told(), *out_of_order(self.history)]

    def _landed(self) -> Iterator[str]:
        """Every revision was won by one commit, which is there whole; nothing else is there."""
        by_revision: dict[int, Counter[str]] = {}
        for revision, text in self.moves:
            by_revision.setdefault(revision, Counter())[text.partition("/")[0]] += 1
        for revision in range(1, max(by_revision, default=0) + 1):
            if list(by_revision.get(revision, Counter()).values()) != [PIECES]:
                yield f"revision {revision} holds {dict(by_revision.get(revision, {}))}"
        self.landed = {who: revision for revision, whose in by_revision.items() for who in whose}
        for who, count in self.written.items():
            if count != PIECES or who not in self.landed:
                yield f"{count} messages of {who} are in the file, which landed at {self.landed.get(who)}"

    def _told(self) -> Iterator[str]:
        """Who was told that it won, won on the revision it named; who was told that it lost left nothing."""
        for asked in self.history:
            at = self.landed.get(asked.who)
            if asked.outcome == "won" and at != asked.expected + 1:
                yield f"{asked.who} won on {asked.expected}, and landed at {at}"
            if asked.outcome == "lost" and at is not None:
                yield f"{asked.who} lost, and landed at {at}"


def race_of(path: str, session_id: str, folder: Path) -> Race:
    """A race between processes, from the notes that they left and from the file."""
    history, _ = read_notes(folder)
    with reading(path) as db:
        moves = db.execute(MOVES, (session_id,)).fetchall()
        written = db.execute("SELECT data_json ->> '$.text' FROM chat_parts").fetchall()
    return Race(history, [(int(a), str(b)) for a, b in moves], [str(row[0]) for row in written])


MOVES = """
SELECT r.revision, p.data_json ->> '$.text' FROM reflog r
  JOIN turn_entries e ON e.turn_id = r.turn_id AND e.kind = 'message' JOIN chat_parts p ON p.message_id = e.ref
 WHERE r.session_id = ? AND r.revision > 0
"""
