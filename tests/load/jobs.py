"""What the processes of a crowd do: the jobs of `python -m tests.load.jobs`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import apsw

import palaver

from ..tools.puppet import Report, heard, play, ready, say
from ..tools.waiting import in_threads
from .counting import count_syncs

WORDS = ["It ", "was ", "the ", "linker ", "all ", "along."]


# ---------------------------------------------------------------- writers and a long reader


class Asked:
    """Every question of this process: where the file's record stood when it asked, and the longest wait for a verb."""

    def __init__(self, path: str) -> None:
        self._judge = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        self._judge.set_busy_timeout(10_000)
        self.stood: dict[str, int] = {}
        self.worst = 0.0
        self.errors: list[str] = []

    def ask(self, said: str, work: Callable[[str], object]) -> None:
        stood = self._judge.execute("SELECT coalesce(max(rowid), 0) FROM chat_messages").fetchall()[0][0]
        try:
            work(said)
            self.stood[said] = stood
        except palaver.PalaverError as error:
            self.errors.append(f"{said}: {error!r}")

    def timed(self, verb: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            began = time.monotonic()
            try:
                return verb(*given)
            finally:
                self.worst = max(self.worst, time.monotonic() - began)

        return call


def write(path: str, me: str, shared: str, seconds: float) -> Report:
    """Round after round: a whole turn in a session of our own, one in a session that all share, and a stream."""
    store = palaver.open(path)
    own, common = store.sessions.create(me), store.sessions.get(shared)
    asked, number = Asked(path), 0
    ready()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        asked.ask(f"{me} own {number}", asked.timed(own.commit))
        asked.ask(f"{me} shared {number}", asked.timed(common.commit))
        asked.ask(f"{me} stream {number}", lambda said: stream(own, said, asked.timed))
        number += 1
    store.close()
    return {
        "me": me,
        "own": own.id,
        "rounds": number,
        "stood": asked.stood,
        "worst": asked.worst,
        "errors": asked.errors,
    }


def stream(session: palaver.Session, said: str, timed: Callable[..., Any]) -> None:
    turn = timed(session.turn)(said)
    keep = timed(turn.write)
    keep({"type": "text-start", "id": "t"})
    for word in WORDS:
        keep({"type": "text-delta", "id": "t", "delta": word})
    keep({"type": "text-end", "id": "t"})
    timed(turn.seal)()


def read(path: str, seconds: float) -> Report:
    """A program that looks at one moment of the file for half a second, lets go of it for a little, and takes the next.
    What is written meanwhile stays in the log, and how much that is depends on the machine."""
    db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    moments, moved = 0, 0
    ready()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        db.execute("BEGIN")
        first = db.execute("SELECT count(*) FROM chat_messages").fetchall()
        time.sleep(0.5)
        moved += db.execute("SELECT count(*) FROM chat_messages").fetchall() != first
        db.execute("COMMIT")
        moments += 1
        time.sleep(0.05)
    return {"moments": moments, "moved": moved}


# ---------------------------------------------------------------- first openers


def open_files() -> None:
    """Open every file as soon as it is named, and write to it; a word for each: ok, or what went wrong."""
    ready()
    for place in heard():
        try:
            with palaver.open(place) as store:
                store.sessions.create("opener").commit("I was here")
            say("ok")
        except Exception as error:
            say(repr(error))


# ---------------------------------------------------------------- syncs


class Syncs:
    """A store whose syncs are counted, from some verb to some verb."""

    def __init__(self, path: str, durability: str, sync_seconds: float = 0.0) -> None:
        self._all = count_syncs(sync_seconds)
        self.store = palaver.open(path, durability=durability)
        self.session = self.store.sessions.create("counted")
        self.session.turn("the first signs in").seal()
        self._all.clear()

    def log(self) -> int:
        """Syncs of the log since the last look."""
        new, self._all[:] = list(self._all), [name for name in self._all if not name.endswith("-wal")]
        return len(new) - len(self._all)

    def others(self) -> int:
        return len(self._all)


def stream_and_count_syncs(path: str, durability: str, chunks: int) -> Report:
    counted = Syncs(path, durability)
    turn = counted.session.turn("question")
    begin = counted.log()
    keep = [{"type": "text-start", "id": "t"}, {"type": "text-end", "id": "t"}]
    keep[1:1] = [{"type": "text-delta", "id": "t", "delta": "word "}] * chunks
    for chunk in keep:
        turn.write(chunk)
    between = counted.log()
    turn.seal()
    return {"begin": begin, "chunks": between, "seal": counted.log(), "other files": counted.others()}


def commit_and_count_syncs(path: str, durability: str, commits: int) -> Report:
    counted = Syncs(path, durability)
    for number in range(commits):
        counted.session.commit(f"message {number}")
    return {"log": counted.log(), "other files": counted.others()}


def count_syncs_of_a_chunk(path: str, kind: str) -> Report:
    counted = Syncs(path, "boundary")
    turn = counted.session.turn("question")
    turn.write({"type": "tool-input-available", "toolCallId": "c", "toolName": "run", "input": {}})
    counted.log()
    turn.write({"type": kind, "toolCallId": "c", "output": 1} if kind.startswith("tool") else {"type": kind})
    return {"log": counted.log(), "other files": counted.others()}


def commit_in_threads_and_count_syncs(path: str, threads: int, commits: int) -> Report:
    """Each thread in a session of its own; a sync takes as long as on a slow disk."""
    counted = Syncs(path, "boundary", sync_seconds=0.003)
    sessions = [counted.store.sessions.create("thread") for _ in range(threads)]
    counted.log()

    def work(session: palaver.Session) -> None:
        for number in range(commits):
            session.commit(f"message {number}")

    in_threads(work, sessions)
    kept = [[message["parts"][0]["text"] for message in session.messages()] for session in sessions]
    wanted = [f"message {number}" for number in range(commits)]
    return {"log": counted.log(), "whole": kept == [wanted] * threads}


# ---------------------------------------------------------------- memory


def peak() -> int:
    """Megabytes of this program at most; what it was started by does not count."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) // 1024


def count(path: str, sql: str) -> Any:
    db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    value = db.execute(sql).fetchall()[0][0]
    db.close()
    return value


def write_a_large_output(path: str, megabytes: int, form: str, events: str = "live") -> Report:
    """The caller has the value once: as a string in a dict, or inside the bytes of a JSON text."""
    store = palaver.open(path, events=events)
    turn = store.sessions.create("large").turn("question")
    turn.write({"type": "tool-input-available", "toolCallId": "c", "toolName": "run", "input": {}})
    if form == "values":
        turn.write({"type": "tool-output-available", "toolCallId": "c", "output": "x" * (megabytes << 20)})
    else:
        text = b'{"type":"tool-output-available","toolCallId":"c","output":"%s"}'
        turn.write(text.replace(b"%s", b"x" * (megabytes << 20)))
    turn.seal()
    most = peak()
    store.close()
    kept = count(path, "SELECT length(data_json ->> '$.output') FROM chat_parts WHERE tool_call_id = 'c'")
    return {"peak": most, "kept": kept}


def stream_many_parts(path: str, parts: int, turns: int) -> Report:
    store = palaver.open(path)
    session = store.sessions.create("many")
    for number in range(turns):
        with session.turn(f"question {number}") as turn:
            for part in range(parts // turns):
                turn.append(short_text(f"t{part}"))
    most = peak()
    store.close()
    return {"peak": most, "kept": count(path, "SELECT count(*) FROM chat_parts") - turns}


def short_text(name: str) -> list[dict[str, Any]]:
    words = "Some words of a part, no more than a line or two of them. " * 2
    return [
        {"type": "text-start", "id": name},
        {"type": "text-delta", "id": name, "delta": words},
        {"type": "text-end", "id": name},
    ]


if __name__ == "__main__":
    play()
