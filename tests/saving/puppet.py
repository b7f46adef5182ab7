"""Processes that write, follow, trim and get killed."""

from __future__ import annotations

import os
import random
import signal
import threading
from typing import Any

import palaver

from ..tools.actor import act  # noqa: F401  a job
from ..tools.chunks import message
from ..tools.puppet import Crew, die, play, say

CREW = Crew("tests.saving.puppet")


def follow(path: str, session: str, after: int | None) -> None:
    """Every event, as it comes."""
    events = palaver.open(path).sessions.get(session).follow(after)
    say("following")
    for event in events:
        say([event.seq, event.kind, event.turn, event.data])


def trim(path: str, slices: int) -> None:
    """Die between two slices of a trim."""
    from palaver.core.upkeep import trimming

    trimming.SLICE = 100
    trim_some = trimming.trim_some
    left = iter(range(slices))

    def and_die(tx: Any, turns: Any) -> int:
        if next(left, None) is None:
            die()
        return trim_some(tx, turns)

    trimming.trim_some = and_die
    palaver.open(path).trim(older_than=0)


def commit(path: str, threads: int, sessions: int) -> None:
    """Commit for ever from many threads; what each was told is written down when it was told."""
    store = palaver.open(path, durability="full")
    talks = [store.sessions.create("a") for _ in range(sessions)]
    say([talk.id for talk in talks])

    def run(me: int) -> None:
        for number in range(1_000_000):
            who = f"{me}:{number}"
            talks[(me + number) % sessions].commit(whole(who))
            say(who)

    for me in range(threads):
        threading.Thread(target=run, args=(me,), daemon=True).start()
    threading.Event().wait()


def interrupted(path: str, rounds: int) -> str:
    """Write until a signal comes, and then once more; as often as that."""
    store = palaver.open(path, timeout=5)
    session, chance = store.sessions.create("a"), random.Random(os.getpid())
    for number in range(rounds):
        alarm = threading.Timer(chance.uniform(0.001, 0.03), os.kill, (os.getpid(), signal.SIGINT))
        try:
            alarm.start()
            while True:
                session.commit("before")
        except KeyboardInterrupt:
            session.commit(f"after {number}")
        alarm.join()
    store.close()
    return "closed"


def whole(who: str) -> list[dict[str, Any]]:
    """A turn of three messages: all of them are there, or none."""
    roles = ("user", "assistant", "user")
    return [message(role, f"{who}/{n}") for n, role in enumerate(roles)]


if __name__ == "__main__":
    play()
