"""What processes that share a queue do: the jobs of `python -m tests.queueing.child`."""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import palaver

from ..tools.puppet import die, play, ready, say
from .support import answer


def claim(path: str, session: str, id: str | None = None, chunks: int = 0) -> None:
    """Claim one, write some chunks, and stay until killed."""
    store = palaver.open(path)
    ready()
    turn = store.sessions.get(session).claim(id)
    assert turn is not None
    for number in range(chunks):
        turn.write({"type": "start"} if number == 0 else {"type": "text-start", "id": str(number)})
    say("claimed")
    sys.stdin.readline()


def outcome(verb: Callable[[], Any]) -> str:
    try:
        return "won" if verb() else "nothing"
    except palaver.Refused as refused:
        return type(refused).__name__


def claim_and_seal(talk: palaver.Session, id: str) -> bool:
    turn = talk.claim(id)
    assert turn is not None
    turn.seal()
    return True


def claim_each(path: str, session: str, ids: list[str]) -> dict[str, str]:
    with palaver.open(path) as store:
        talk = store.sessions.get(session)
        ready()
        return {id: outcome(lambda id=id: claim_and_seal(talk, id)) for id in ids}  # type: ignore[misc]


def cancel_each(path: str, session: str, ids: list[str]) -> dict[str, str]:
    with palaver.open(path) as store:
        talk = store.sessions.get(session)
        ready()
        return {id: outcome(lambda id=id: talk.cancel(id)) for id in ids}  # type: ignore[misc]


def deliver(path: str, sessions: list[str], ids: list[str], verb: str, seed: int) -> dict[str, str]:
    """Send every delivery to some session; what came of each."""
    chance = random.Random(seed)
    with palaver.open(path) as store:
        ready()
        found = {}
        for id in ids:
            talk = store.sessions.get(chance.choice(sessions))
            trigger = {"source": "webhook", "delivery_id": id, "fired_at": 7}
            found[id] = outcome(lambda t=talk, i=id, e=trigger: send(t, verb, f"delivery {i}", e))  # type: ignore[misc]
    return found


def send(talk: palaver.Session, verb: str, text: str, trigger: dict[str, Any]) -> Any:
    while True:
        try:
            if verb == "turn":
                with talk.turn(text, trigger=trigger) as turn:
                    answer(turn, "heard")
                return turn
            return getattr(talk, verb)(text, trigger=trigger)
        except palaver.HeadConflict as conflict:  # another turn landed first; this one is kept as a stray
            assert conflict.stray is not None
            return conflict


def drain(path: str, session: str, me: str, notes: str, seed: int, dies: bool) -> int:
    """Claim and answer until nothing waits; with `dies`, killed at a moment that nobody chose."""
    chance = random.Random(seed)
    file = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(kind: str, turn: str) -> None:
        os.write(file, json.dumps([kind, turn, me]).encode() + b"\n")

    store = palaver.open(path)
    talk = store.sessions.get(session)
    ready()
    if dies:
        threading.Thread(target=_die_after, args=(chance.uniform(0.0, 0.25),), daemon=True).start()
    answered = 0
    while (turn := talk.claim()) is not None:
        note("claimed", turn.id)
        if chance.random() < 0.5:
            time.sleep(0.001)  # more of the deaths fall before the first chunk
        turn.write({"type": "start"})
        note("answering", turn.id)
        answer_rest(turn, me)
        note("answered", turn.id)
        answered += 1
    store.close()
    os.close(file)
    return answered


def answer_rest(turn: palaver.Turn, text: str) -> None:
    turn.write({"type": "text-start", "id": "t"})
    turn.write({"type": "text-delta", "id": "t", "delta": text})
    try:
        turn.seal()
    except palaver.HeadConflict:  # somebody else's answer landed first; this one is kept as a stray
        pass


def _die_after(seconds: float) -> None:
    time.sleep(seconds)
    die()


if __name__ == "__main__":
    play()
