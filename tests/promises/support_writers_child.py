"""What processes that write against each other do: `python -m tests.promises.support_writers_child '{"job": …}'`."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import apsw

import palaver
from palaver.base import clock

from .sabotage import plant_from_environment
from .support_writers import PIECES, commit_of, judge


def ready() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


def say(**report: Any) -> None:
    print(json.dumps(report), flush=True)


# ---------------------------------------------------------------- a race for the head


def compete(session: palaver.Session, me: str, chance: random.Random, target: int, note: Callable[..., None]) -> None:
    """Commit on the revision just read, now and then on an older one, until the head has moved often enough."""
    number = 0
    while (revision := session.revision) < target:
        expected = max(0, revision - (chance.random() < 0.2))
        who, number = f"{me}:{number}", number + 1
        note("asked", who, expected)
        try:
            session.commit(commit_of(who), expected=expected)
            note("won", who, expected)
        except palaver.HeadConflict:
            note("lost", who, expected)


def race(
    path: str, session: str, me: str, notes: str, seed: int, target: int, frozen: int = 0, durability: str = "boundary"
) -> None:
    if frozen:
        clock._now_ns = lambda: frozen * 1_000_000
    store = palaver.open(path, durability=durability)
    file = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(kind: str, who: str, expected: int) -> None:
        os.write(file, json.dumps([kind, who, expected, time.monotonic()]).encode() + b"\n")

    ready()
    compete(store.sessions.get(session), me, random.Random(seed), target, note)
    store.close()
    say(done=me)


# ---------------------------------------------------------------- writers, and others that hold a lock


def write(path: str, me: str, seconds: float, streams: bool = False) -> None:
    """Turn after turn, whole or, with `streams`, every third streamed. Where the file stood at each asking."""
    with judge(path) as db, palaver.open(path) as store:
        session = store.sessions.create(me)
        stood, errors, number = [], [], 0
        ready()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            stood.append(db.execute("SELECT coalesce(max(rowid), 0) FROM chat_messages").fetchall()[0][0])
            try:
                if streams and number % 3 == 0:
                    stream(session, f"{me} {number}")
                else:
                    session.commit(f"{me} {number}")
            except palaver.PalaverError as error:
                errors.append(repr(error))
            number += 1
    say(me=me, session=session.id, stood=stood, errors=errors)


def stream(session: palaver.Session, said: str) -> None:
    with session.turn(said) as turn:
        turn.write({"type": "text-start", "id": "t"})
        for word in ("yes ", "and ", "no"):
            turn.write({"type": "text-delta", "id": "t", "delta": word})


def intrude(path: str, seconds: float) -> None:
    """Another program, which knows SQLite's lock but not our line: it holds the lock for some milliseconds, often."""
    chance, held = random.Random(1), 0
    db = apsw.Connection(path)
    db.set_busy_timeout(10_000)
    db.execute("CREATE TABLE IF NOT EXISTS other_notes (n INTEGER)")
    ready()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        db.execute("BEGIN IMMEDIATE; INSERT INTO other_notes VALUES (1)")
        time.sleep(chance.uniform(0.002, 0.03))
        db.execute("COMMIT")
        held += 1
        time.sleep(chance.uniform(0.0, 0.005))
    say(held=held)


def hold(path: str, how: str) -> None:
    """Stay in the middle of a transaction until a line comes: of ours, of another program, or one that only reads."""
    if how == "ours":
        with palaver.open(path) as store, store.db.write() as tx:
            tx.generation()
            ready()
    else:
        db = apsw.Connection(path)
        db.execute("BEGIN" if how == "reading" else "BEGIN IMMEDIATE; UPDATE chat_sessions SET agent = 'half'")
        before = db.execute("SELECT count(*) FROM chat_messages").fetchall()
        ready()
        assert db.execute("SELECT count(*) FROM chat_messages").fetchall() == before
        db.execute("ROLLBACK")
    say(done=how)


def look(path: str) -> None:
    """Take a snapshot with every line that comes, let go of it with the next; an empty one ends it."""
    db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    ready()
    while sys.stdin.readline() != "\n":
        if db.in_transaction:
            db.execute("COMMIT")
        else:
            db.execute("BEGIN; SELECT count(*) FROM chat_messages").fetchall()
        print("ok", flush=True)


def open_files() -> None:
    """Open each of these as soon as it is named, and write to it."""
    ready()
    for place in iter(sys.stdin.readline, "\n"):
        try:
            with palaver.open(place.rstrip("\n")) as store:
                store.sessions.create("opener").commit("I was here")
            print("ok", flush=True)
        except Exception as error:
            print(repr(error), flush=True)


def watch(path: str, session: str, until: int) -> None:
    """Read a session again and again until its head has moved so often: reads that were not of one moment."""
    reads, seen, halves = 0, 0, []
    with palaver.open(path) as store:
        talk = store.sessions.get(session)
        ready()
        while talk.revision < until:
            stored, newest = talk.snapshot()
            texts = [message.ui()["parts"][0]["text"] for message in stored]
            names = list(dict.fromkeys(text.partition("/")[0] for text in texts))
            whole = [f"{name}/{n}" for name in names for n in range(PIECES)]
            if texts != whole or len(texts) < seen or newest != 1 + len(names):
                halves.append((newest, texts[-2 * PIECES :]))
            reads, seen = reads + 1, len(texts)
    say(reads=reads, halves=halves[:5])


JOBS: dict[str, Callable[..., None]] = {
    job.__name__: job for job in (race, write, intrude, hold, look, open_files, watch)
}

if __name__ == "__main__":
    plant_from_environment()
    given = json.loads(sys.argv[1])
    JOBS[given.pop("job")](**given)
