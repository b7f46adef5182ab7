"""Processes that write, follow and get killed: `python -m tests.saving.puppet '{"job": …}'`, and their handle.

A process says one line of JSON for each thing that happened; a puppet that obeys makes one call per line it is given.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import palaver

from .planting import plant_from_environment

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0


class Puppet:
    """A process of this module. It is over when its block is."""

    def __init__(self, job: str, path: str, **options: Any) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.saving.puppet", json.dumps({"job": job, "path": path, **options})],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._alarm = threading.Timer(PATIENCE, self._process.kill)
        self._alarm.start()

    def __enter__(self) -> Puppet:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def hear(self) -> Any:
        line = self._read()
        assert line is not None, "the process ended early"
        return line

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line.endswith(b"\n") else None

    def tell(self, *words: Any) -> Any:
        """Give it a line; what it answers."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(words).encode() + b"\n")
        self._process.stdin.flush()
        return self.hear()

    def kill(self) -> list[Any]:
        """kill -9, now; all that it said and nobody has heard yet."""
        if self._process.returncode is not None:
            return []
        self._process.send_signal(signal.SIGKILL)
        unheard = list(iter(self._read, None))
        self._end()
        return unheard

    def wait(self) -> list[Any]:
        """Let it come to its end, however that is."""
        unheard = list(iter(self._read, None))
        self._end()
        return unheard

    def _end(self) -> None:
        self._process.wait(PATIENCE)
        self._alarm.cancel()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:  # it did not want to hear our last word
                pass


# ---------------------------------------------------------------- what they do


def say(line: Any) -> None:
    os.write(1, json.dumps(line).encode() + b"\n")


def obey(path: str, **options: Any) -> None:
    """Turns of sessions, by the number of their beginning: ["begin", session or null], ["append", turn, chunks] …"""
    store = palaver.open(path, **options)
    turns: list[palaver.Turn] = []
    for line in sys.stdin:
        verb, *given = json.loads(line)
        if verb == "begin":
            session = store.sessions.get(given[0]) if given[0] else store.sessions.create("puppet")
            turns.append(session.turn("question"))
            say([session.id, turns[-1].id])
        else:
            getattr(turns[given[0]], verb)(*given[1:])
            say([turns[given[0]].chunks, turns[given[0]].stored])


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
            os.kill(os.getpid(), signal.SIGKILL)
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


def interrupted(path: str, rounds: int) -> None:
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
    say("closed")


def whole(who: str) -> list[dict[str, Any]]:
    """A turn of three messages: all of them are there, or none."""
    roles = ("user", "assistant", "user")
    return [{"role": role, "parts": [{"type": "text", "text": f"{who}/{n}"}]} for n, role in enumerate(roles)]


JOBS: dict[str, Callable[..., None]] = {job.__name__: job for job in (obey, follow, trim, commit, interrupted)}

if __name__ == "__main__":
    plant_from_environment()
    given = json.loads(sys.argv[1])
    JOBS[given.pop("job")](**given)
