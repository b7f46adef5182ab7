"""Many want one message: exactly one gets it. Threads, processes, and processes that are killed at any moment."""

from __future__ import annotations

import json
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

import palaver
from palaver import MessageCancelled, MessageFired

from ..tools.sql import query
from .support import CREW, answer, seen, waiting

SEALED = {"completed", "aborted"}


def session_with(path: str, count: int) -> tuple[str, list[str]]:
    with palaver.open(path) as store:
        session = store.sessions.create("a")
        ids = [f"m{number}" for number in range(count)]
        for id in ids:
            session.enqueue(f"question {id}", id=id)
        return session.id, ids


# ---------------------------------------------------------------- claim or cancel, never both


def test_claim_and_cancel_from_two_threads_have_one_winner(store: palaver.Store, path: str) -> None:
    session = store.sessions.create("a")
    start = Barrier(2)

    def claim(id: str) -> str:
        start.wait(60)
        try:
            turn = session.claim(id)
        except MessageCancelled:
            return "refused"
        assert turn is not None
        turn.seal()
        return "won"

    def cancel(id: str) -> str:
        start.wait(60)
        try:
            return "won" if session.cancel(id) else "nothing"
        except MessageFired:
            return "refused"

    with ThreadPoolExecutor(2) as pool:
        for number in range(25):
            id = session.enqueue(f"question {number}", id=f"m{number}").id
            results = [pool.submit(verb, id) for verb in (claim, cancel)]
            assert sorted(result.result(60) for result in results) == ["refused", "won"]
    assert waiting(session) == []
    fired = [turn for turn in session.path() if turn.status == "completed"]
    assert len(seen(path, session.id)) == len(fired)
    assert store.verify() == []


def test_claim_and_cancel_from_two_processes_have_one_winner(path: str) -> None:
    """They come from both ends of the line and meet in the middle."""
    name, ids = session_with(path, 60)
    claimed, cancelled = CREW.together(
        [
            {"job": "claim_each", "path": path, "session": name, "ids": ids},
            {"job": "cancel_each", "path": path, "session": name, "ids": ids[::-1]},
        ]
    )
    for id in ids:
        both = (claimed[id], cancelled[id])
        assert both in {("won", "MessageFired"), ("MessageCancelled", "won")}, (id, both)
    with palaver.open(path) as store:
        session = store.sessions.get(name)
        assert waiting(session) == []
        assert seen(path, name) == [f"question {id}" for id in ids if claimed[id] == "won"]
        assert store.verify() == []


def test_of_many_threads_that_claim_each_message_goes_to_one(store: palaver.Store) -> None:
    session = store.sessions.create("a")
    ids = [session.enqueue(f"question {number}", id=f"m{number}").turn_id for number in range(24)]

    def work() -> list[str]:
        got = []
        while (turn := session.claim()) is not None:
            got.append(turn.id)
            turn.write({"type": "start"})
            try:
                turn.seal()
            except palaver.HeadConflict:
                pass
        return got

    with ThreadPoolExecutor(6) as pool:
        results = [pool.submit(work) for _ in range(6)]
        got = [turn for result in results for turn in result.result(120)]
    assert sorted(got) == sorted(ids)
    assert store.verify() == []


# ---------------------------------------------------------------- killed at any moment


class Drained:
    """What processes noted while they worked a line off, and what is in the file now."""

    def __init__(self, path: str, name: str, notes: Path) -> None:
        told = [tuple(json.loads(line)) for line in notes.read_text().splitlines()]
        self.claimed = Counter(turn for kind, turn, _ in told if kind == "claimed")
        self.answering = Counter(turn for kind, turn, _ in told if kind == "answering")
        self.answered = Counter(turn for kind, turn, _ in told if kind == "answered")
        self.rows = query(path, ENDS, name)

    def problems(self, count: int) -> list[str]:
        found = [] if len(self.rows) == count else [f"{len(self.rows)} of {count} messages are there"]
        for turn, status, claims, answers in self.rows:
            if status not in SEALED:
                found.append(f"{turn} is {status}")
            if self.answering[turn] > 1 or self.answered[turn] > 1:
                found.append(f"{turn} was fired {self.answering[turn]} times")
            if self.claimed[turn] > claims or claims > 2:
                found.append(f"{turn} was claimed {self.claimed[turn]} times, the store says {claims}")
            if answers != 1 and not (answers == 0 and claims == 2 and status == "aborted"):
                found.append(f"{turn} has {answers} answers after {claims} claims")
            if self.answered[turn] and status != "completed":
                found.append(f"{turn} was answered, and is {status}")
        return found


ENDS = """
SELECT q.turn_id, t.status, q.claims,
       (SELECT count(*) FROM turn_entries e JOIN chat_messages m ON m.id = e.ref
         WHERE e.turn_id = t.id AND e.kind = 'message' AND m.role = 'assistant')
  FROM queue q JOIN turns t ON t.id = q.turn_id WHERE q.session_id = ?
"""


def drain(path: str, folder: Path, *, crowd: int, count: int, rounds: int, seed: int) -> Drained:
    """Crowds of processes, all of them killed but one of the last; then this one looks whether anything is left."""
    print(f"seed {seed}")
    chance, notes = random.Random(seed), folder / "notes"
    name, _ = session_with(path, count)
    for number in range(rounds):
        job = {"job": "drain", "path": path, "session": name, "notes": str(notes)}
        jobs = [{**job, "me": f"p{number}.{n}", "seed": chance.getrandbits(32), "dies": True} for n in range(crowd)]
        jobs[0]["dies"] = number + 1 < rounds
        CREW.together(jobs, some_are_killed=True)
    with palaver.open(path) as store:
        session = store.sessions.get(name)
        while (turn := session.claim()) is not None:
            with turn:
                answer(turn, "the last one")
        assert waiting(session) == [] and store.verify() == []
        assert seen(path, name) == [part for m in session.messages() for part in (p["text"] for p in m["parts"])]
    return Drained(path, name, notes)


def test_processes_that_are_killed_fire_each_message_once_and_lose_none(path: str, tmp_path: Path) -> None:
    drained = drain(path, tmp_path, crowd=3, count=30, rounds=3, seed=random.randrange(2**32))
    assert drained.problems(30) == []
    assert sum(drained.answered.values()) > 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_eight_processes_that_are_killed_fire_each_message_once_and_lose_none(
    path: str, tmp_path: Path, seed: int
) -> None:
    drained = drain(path, tmp_path, crowd=8, count=1_000, rounds=30, seed=seed)
    assert drained.problems(1_000) == []
    assert sum(drained.answered.values()) > 0
