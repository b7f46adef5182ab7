"""What processes that write against each other do: the jobs of `python -m tests.promises.support_writers_child`."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import apsw

import palaver
from palaver.base import clock

from ..load.jobs import open_files  # noqa: F401  a job of these processes, too
from ..tools.puppet import Report, heard, play, ready, say
from ..tools.races import Notes
from ..tools.sql import reading
from .support_writers import PIECES, commit_of

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
) -> Report:
    if frozen:
        clock._now_ns = lambda: frozen * 1_000_000
    store = palaver.open(path, durability=durability)
    ready()
    compete(store.sessions.get(session), me, random.Random(seed), target, Notes(notes).write)
    store.close()
    return {"done": me}


# ---------------------------------------------------------------- writers, and others that hold a lock


def write(path: str, me: str, seconds: float, streams: bool = False) -> Report:
    """Turn after turn, whole or, with `streams`, every third streamed. Where the file stood at each asking."""
    with reading(path) as db, palaver.open(path) as store:
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
    return {"me": me, "session": session.id, "stood": stood, "errors": errors}


def stream(session: palaver.Session, said: str) -> None:
    with session.turn(said) as turn:
        turn.write({"type": "text-start", "id": "t"})
        for word in ("yes ", "and ", "no"):
            turn.write({"type": "text-delta", "id": "t", "delta": word})


def intrude(path: str, seconds: float) -> Report:
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
    return {"held": held}


def hold(path: str, how: str) -> Report:
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
    return {"done": how}


def look(path: str) -> None:
    """Take a snapshot with every word that comes, let go of it with the next."""
    db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    ready()
    for _ in heard():
        if db.in_transaction:
            db.execute("COMMIT")
        else:
            db.execute("BEGIN; SELECT count(*) FROM chat_messages").fetchall()
        say("ok")


def watch(path: str, session: str, until: int) -> Report:
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
    return {"reads": reads, "halves": halves[:5]}


if __name__ == "__main__":
    play()
