"""What the processes of a race do: the jobs of `python -m tests.races.child`.

A racer reads the revision, says something on it, whole or streamed, and notes what it was told. A stranger is another
program, which adds rows by plain SQL. Each notes before it asks and after it was told, so that the history of one that
was killed is known, too.
"""

from __future__ import annotations

import os
import random
import time

import palaver

from ..tools.puppet import play, ready
from ..tools.races import Notes
from .places import open_store, put_row


def race(url: str, session: str, me: str, notes: str, over: str) -> str:
    chance, book = random.Random(me), Notes(notes)
    with open_store(url, timeout=60) as store:
        here, number = store.sessions.get(session), 0
        ready()
        while not os.path.exists(over):
            who, number = f"{me}:{number}", number + 1
            expected = here.revision
            book.write("asked", who, expected)
            book.write(say(here, who, expected, chance), who, expected)
    return me


def say(session: palaver.Session, who: str, expected: int, chance: random.Random) -> str:
    """`won`, or `lost`: told at once, or by the seal. `late`: on a busy machine its lease ran out, and it was taken for
    dead."""
    try:
        if chance.random() < 0.5:
            session.commit(who, expected=expected)
        else:
            stream(session.turn(who, expected=expected), who, chance)
    except palaver.HeadConflict:
        return "lost"
    except palaver.TurnSealed:
        return "late"
    return "won"


def stream(turn: palaver.Turn, who: str, chance: random.Random) -> None:
    turn.write({"type": "text-start", "id": "t"})
    for word in ("yes", "and", "no"):
        turn.write({"type": "text-delta", "id": "t", "delta": f"{who} {word} "})
        time.sleep(chance.uniform(0.0, 0.01))
    turn.seal()


def intrude(url: str, session: str, me: str, notes: str, over: str) -> str:
    chance, book, number = random.Random(me), Notes(notes), 0
    ready()
    while not os.path.exists(over):
        who, number = f"{me}:{number}", number + 1
        put_row(url, session, who)
        book.write("foreign", who, -1)
        time.sleep(chance.uniform(0.0, 0.1))
    return me


if __name__ == "__main__":
    play()
