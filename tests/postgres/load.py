"""Many writers over many spaces, in processes of their own; each notes what it was told. The judge reads it afterwards.

A process writes until its input ends. In each space one thread commits
by compare-and-swap on the given session, which other processes share; another streams turn after turn, each in a
session of its own.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

import palaver
from palaver import Store, StoreError

from ..tools.puppet import LONG, Crew, play, say
from . import crowd
from .crowd import Committer, Streamer, Told, judge_commits, judge_stream

CREW = Crew("tests.postgres.load", LONG)
OPTIONS = {"timeout": 30.0, "durability": "full", "trim_after": 600, "lease": 600.0}
CHUNKS = 34  # of a turn
END_S = 180.0  # how long the last of them may take once the faults are over


@dataclass
class Streamed:
    session_id: str
    acknowledged: list[str]


@dataclass
class Notes:
    """What the writers of one space were told."""

    told: Told = field(default_factory=Told)
    streams: list[Streamed] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)  # an error that a writer did not expect


def stream(store: Store, notes: Notes, name: str, is_over: Callable[[], bool]) -> None:
    for number in itertools.count():
        if is_over():
            return
        try:
            streamer = Streamer(f"{name}-{number}", store.sessions.create())
        except StoreError as error:  # a turn that may have begun is nobody's: no word of it was acknowledged
            notes.errors.append(f"turn: {type(error).__name__}: {error}")
            continue
        left = iter(range(CHUNKS))
        try:
            streamer.run(lambda left=left: is_over() or next(left, None) is None)  # type: ignore[misc]
        finally:
            notes.streams.append(Streamed(streamer.session_id, streamer.acknowledged))
            notes.errors += streamer.errors


def write(dsn: str, file: str, places: list[str]) -> None:
    crowd.END_S = END_S
    over = threading.Event()
    notes: dict[str, Notes] = {}
    stores, threads = [], []
    name = Path(file).stem
    for space, session_id in (place.split("=") for place in places):
        store = palaver.open(dsn, space=space, **OPTIONS)
        mine = notes[space] = Notes()
        committer = Committer(f"{name}-{space}", palaver.Session(store, session_id), mine.told)
        stores.append(store)
        for work in (
            lambda committer=committer: committer.run(over.is_set),
            lambda store=store, mine=mine: stream(store, mine, name, over.is_set),
        ):
            threads.append(threading.Thread(target=_guarded, args=(work, mine)))
    for thread in threads:
        thread.start()
    say("ready")
    sys.stdin.read()
    over.set()
    for thread in threads:
        thread.join()
    Path(file).write_bytes(msgspec.json.encode(notes))
    for store in stores:
        store.close()


def _guarded(work: Callable[[], None], notes: Notes) -> None:
    try:
        work()
    except BaseException as error:
        notes.crashes.append(repr(error))


# ---------------------------------------------------------------- who starts them, and who judges


@contextmanager
def writers(dsn: str, folder: Path, places: dict[str, str], processes: int) -> Iterator[list[Path]]:
    """At work until the block is over; each space is written by two of them. Their notes are then in the files."""
    files = [folder / f"p{number}" for number in range(processes)]
    with ExitStack() as stack:
        begun = []
        for number, file in enumerate(files):
            mine = [
                f"{space}={session}"
                for place, (space, session) in enumerate(places.items())
                if number in (place % processes, (place + 1) % processes)
            ]
            begun.append(stack.enter_context(CREW.start("write", dsn=dsn, file=str(file), places=mine)))
        for process in begun:
            assert process.hear() == "ready"
        yield files
        for process in begun:
            process.hang_up()
        assert [process.finish() for process in begun] == [[]] * processes


def judged(dsn: str, places: dict[str, str], files: list[Path]) -> tuple[list[str], str]:
    """What the store holds otherwise than they were told; and what there was, in numbers."""
    found = [msgspec.json.decode(file.read_bytes(), type=dict[str, Notes]) for file in files]
    complaints, total = [], Notes()
    for space, session_id in places.items():
        mine = [notes[space] for notes in found if space in notes]
        told = _merged(mine)
        streams = [stream for notes in mine for stream in notes.streams]
        complaints += [f"{space}: a writer crashed: {crash}" for notes in mine for crash in notes.crashes]
        with palaver.open(dsn, space=space, **OPTIONS) as store:
            complaints += judge_commits(store.sessions.get(session_id), told)
            for one in streams:
                complaints += judge_stream(store.sessions.get(one.session_id), one)
            complaints += [f"{space}: verify: {problem}" for problem in store.verify()]
        total.streams += streams
        total.errors += told.errors + [error for notes in mine for error in notes.errors]
        total.told.done |= {f"{space} {word}": done for word, done in told.done.items()}
        total.told.unknown |= {f"{space} {word}" for word in told.unknown}
    chunks = sum(len(stream.acknowledged) for stream in total.streams)
    kinds = sorted({word for error in total.errors if (word := error.split(": ")[1]).isidentifier()})
    return complaints, (
        f"{len(total.told.done)} commits, {len(total.streams)} streams and {chunks} chunks acknowledged,"
        f" {len(total.told.unknown)} commits of which nobody could say, {len(total.errors)} errors ({', '.join(kinds)})"
    )


def _merged(notes: list[Notes]) -> Told:
    merged = Told()
    for each in notes:
        merged.done |= each.told.done
        merged.not_done |= each.told.not_done
        merged.unknown |= each.told.unknown
        merged.errors += each.told.errors
    return merged


if __name__ == "__main__":
    play()
