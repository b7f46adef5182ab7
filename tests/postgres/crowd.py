"""A crowd on a bad line, and a judge who was not in it.

Committers race for the same sessions by compare-and-swap; streams write chunk after chunk. Each notes what it was told:
done, not done, or neither. Afterwards the judge reads the store over a line of its own and compares.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import palaver
from palaver import HeadConflict, Session, Store, StoreError, Turn, TurnSealed

NOTHING = "nothing was changed"
END_S = 30.0  # how long a stream, and everybody's last commit, may take once the faults are over


@dataclass
class Told:
    """What the writers of one session were told about each of their commits."""

    done: dict[str, tuple[str, int]] = field(default_factory=dict)  # the turn, and the revision it made
    not_done: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)


class Committer:
    """One thread: read the revision, commit on it, note the outcome, again."""

    def __init__(self, name: str, session: Session, told: Told) -> None:
        self.name = name
        self.session = session
        self.told = told

    def run(self, is_over: Callable[[], bool]) -> None:
        number = 0
        while not is_over():
            number += 1
            self.commit(f"{self.name}-{number}")

    def commit(self, word: str) -> None:
        told = self.told
        try:
            revision = self.session.revision
        except StoreError as error:
            told.errors.append(f"reading: {error}")
            return
        try:
            turn = self.session.commit(word, expected=revision)
        except HeadConflict:
            told.not_done.add(word)
        except StoreError as error:
            told.errors.append(f"{word}: {type(error).__name__}: {error}")
            (told.not_done if NOTHING in str(error) else told.unknown).add(word)
        else:
            told.done[word] = (turn.id, revision + 1)


class Streamer:
    """One turn and its chunks. One that failed is sent again by its place, as a client would that wants it stored."""

    def __init__(self, name: str, session: Session) -> None:
        self.session_id = session.id
        self.turn: Turn = session.turn(f"go, {name}")
        self.acknowledged: list[str] = []
        self.errors: list[str] = []
        self._sent = 0

    def run(self, is_over: Callable[[], bool]) -> None:
        self._send({"type": "text-start", "id": "t"})
        while not is_over():
            word = f"{len(self.acknowledged)} "
            self._send({"type": "text-delta", "id": "t", "delta": word})
            self.acknowledged.append(word)
        self._end()

    def _send(self, chunk: dict[str, str]) -> None:
        deadline = time.monotonic() + END_S
        at = None
        while True:
            try:
                self.turn.write(chunk, at=at)
            except StoreError as error:
                self.errors.append(f"{self._sent}: {type(error).__name__}: {error}")
                at = self._sent
                if time.monotonic() > deadline:
                    raise
            else:
                self._sent += 1
                return

    def _end(self) -> None:
        deadline = time.monotonic() + END_S
        while time.monotonic() < deadline:
            try:
                self.turn.seal()
            except TurnSealed:  # by ourselves: the answer was lost
                return
            except StoreError as error:
                self.errors.append(f"seal: {error}")
            else:
                return


class Crowd:
    """Every session is written by way of each of the stores."""

    def __init__(self, *stores: Store, sessions: int = 3, committers: int = 6, streams: int = 2) -> None:
        self.told = {stores[0].sessions.create().id: Told() for _ in range(sessions)}
        ids = list(self.told)
        self.committers = [
            Committer(f"c{number}", Session(store, ids[number % sessions]), self.told[ids[number % sessions]])
            for number, store in zip(range(committers), itertools.cycle(stores), strict=False)
        ]
        self.streams = [
            Streamer(f"s{number}", store.sessions.create())
            for number, store in zip(range(streams), itertools.cycle(stores), strict=False)
        ]
        self.crashes: list[BaseException] = []  # an error that a writer did not expect

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Everybody writes until the block is over, and finishes."""
        over = threading.Event()
        threads = [threading.Thread(target=self._run, args=(one, over)) for one in (*self.committers, *self.streams)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join(END_S * 2)
        assert not any(thread.is_alive() for thread in threads)

    def _run(self, one: Committer | Streamer, over: threading.Event) -> None:
        try:
            one.run(over.is_set)
        except BaseException as error:
            self.crashes.append(error)

    @property
    def done(self) -> int:
        return sum(len(told.done) for told in self.told.values())

    @property
    def chunks(self) -> int:
        return sum(len(stream.acknowledged) for stream in self.streams)

    def complaints(self, dsn: str, **options: object) -> list[str]:
        """What the store holds otherwise than the crowd was told. `dsn` leads there directly."""
        with palaver.open(dsn, **options) as store:
            found = [f"a writer crashed: {error!r}" for error in self.crashes]
            for session_id, told in self.told.items():
                found += judge_commits(store.sessions.get(session_id), told)
            for stream in self.streams:
                found += judge_stream(store.sessions.get(stream.session_id), stream)
            found += [f"verify: {problem}" for problem in store.verify()]
        return found


class HasWords(Protocol):
    acknowledged: list[str]


def judge_commits(session: Session, told: Told) -> list[str]:
    history = session.history()
    stored = Counter(part["text"] for message in session.messages() for part in message["parts"])
    landed = {line.turn_id: line.revision for line in history}
    revisions = [line.revision for line in history]
    found = []
    if revisions != list(range(revisions[0], revisions[0] + len(revisions))):
        found.append(f"revisions are not a row of numbers: {revisions}")
    for word, (turn_id, revision) in told.done.items():
        if stored[word] != 1:
            found.append(f"{word} was done, and is there {stored[word]} times")
        elif landed.get(turn_id) != revision:
            found.append(f"{word} was done as revision {revision}, and is revision {landed.get(turn_id)}")
    found += [f"{word} was not done, and is there" for word in told.not_done if stored[word]]
    found += [f"{word} is there {stored[word]} times" for word in told.unknown if stored[word] > 1]
    strangers = set(stored) - set(told.done) - told.not_done - told.unknown
    return found + [f"{word} is from nowhere" for word in strangers]


def judge_stream(session: Session, stream: HasWords) -> list[str]:
    """What a reader of the transcript sees, and what a follower of the chunks (none, if they were trimmed)."""
    read = "".join(part.get("text", "") for message in session.messages()[1:] for part in message["parts"])
    events = [event.data for event in session.events(limit=100_000) if event.kind == "chunk"]
    followed = "".join(data.get("delta", "") for data in events)
    told = "".join(stream.acknowledged)
    return _apart("read", told, read) + (_apart("followed", told, followed) if events else [])


def _apart(by: str, told: str, stored: str) -> list[str]:
    if stored == told:
        return []
    ours, theirs = told.split(), stored.split()
    pairs = enumerate(zip(ours, theirs, strict=False))
    place = next((at for at, (one, other) in pairs if one != other), min(len(ours), len(theirs)))
    numbers = f"{len(ours)} chunks were acknowledged, {len(theirs)} are {by}"
    return [f"{numbers}; they part at {place}: {theirs[place : place + 3]}"]
