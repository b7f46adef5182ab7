"""Writers with a save policy of their own, in processes that are killed: what each policy may lose, and no more.

A `Puppet` is a process that makes one call after the other as it is told, so that it can be killed between any two.
`python -m tests.promises.support_policies '{"workload": …}'` is what it runs.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import palaver

from . import support_power
from .sabotage import plant_from_environment
from .support_saving import PATIENCE, ROOT, Child, Chunk, Told, Wreck, query
from .support_saving_child import answer, say

POLICIES = ("chunk", "step", "turn")
ENDS = {"chunk": set[str](), "step": {"finish-step", "finish"}, "turn": {"finish"}}


# ---------------------------------------------------------------- processes


class Writer(Child):
    """A process that runs one of the workloads below."""

    def __init__(self, workload: str, path: str | Path, **options: Any) -> None:
        said = json.dumps({"workload": workload, "path": str(path), **options})
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.promises.support_policies", said],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._alarm = threading.Timer(PATIENCE, self._process.kill)
        self._alarm.start()
        self.lines = []


class Puppet(Writer):
    """A process with any number of turns, each in a session of its own."""

    def __init__(self, path: str | Path, **options: Any) -> None:
        super().__init__("obey", path, options=options)

    def tell(self, order: str, **given: Any) -> dict[str, Any]:
        """Make it call; what it answers when the call has returned."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([order, given]).encode() + b"\n")
        self._process.stdin.flush()
        answered = self.read()
        assert answered is not None, f"the writer died of {order} {given}"
        return answered

    def begin(self, said: str = "question") -> RemoteTurn:
        return RemoteTurn(self, self.tell("begin", said=said))


class RemoteTurn:
    """A turn that a puppet holds."""

    def __init__(self, puppet: Puppet, begun: dict[str, Any]) -> None:
        self._puppet = puppet
        self.id: str = begun["turn"]
        self.session_id: str = begun["session"]

    def call(self, verb: str, *given: Any, **named: Any) -> dict[str, Any]:
        return self._puppet.tell("call", turn=self.id, verb=verb, given=given, named=named)

    def append(self, chunks: list[Chunk]) -> dict[str, Any]:
        return self.call("append", chunks)


def stored_chunks(path: str | Path, turn_id: str) -> list[Chunk]:
    """The chunks of a turn that are in the file, by plain SQL."""
    found = query(
        path,
        "SELECT e.data FROM turns t JOIN events e ON e.session_id = t.session_id AND e.turn = t.begin_seq "
        "WHERE t.id = ? AND e.kind = 'chunk' ORDER BY e.seq",
        turn_id,
    )
    return [json.loads(row[0]) for row in found]


def until(holds: Callable[[], bool], what: str) -> None:
    """Look again and again; it must come true."""
    end = time.monotonic() + 30.0
    while not holds():
        assert time.monotonic() < end, f"{what}: it never was so"
        time.sleep(0.005)


# ---------------------------------------------------------------- what a policy keeps


def kept(save_on: str, chunks: list[Chunk]) -> list[Chunk]:
    """Of chunks that were all acknowledged: those that are in the file, exactly."""
    if save_on == "chunk":
        return chunks
    ends = [n + 1 for n, chunk in enumerate(chunks) if chunk["type"] in ENDS[save_on]]
    return chunks[: max(ends, default=0)]


def possible(save_on: str, turn: Told) -> list[list[Chunk]]:
    """The same after a kill: what was acknowledged, or the one call more that had begun."""
    return [kept(save_on, turn.chunks), kept(save_on, turn.chunks + turn.doing)]


def wreck(folder: Path, save_on: str, calls: int, seed: int) -> Wreck:
    """Kill a chattering writer some time after its n-th call returned."""
    folder.mkdir()
    with Writer("chatter", folder / "talks.db", options={"save_on": save_on}, seed=seed) as child:
        child.read_done(calls)
        return Wreck(folder, child.kill())


# ---------------------------------------------------------------- what the processes do


def obey(path: str, options: dict[str, Any]) -> None:
    store = palaver.open(path, **options)
    turns: dict[str, palaver.Turn] = {}
    for line in sys.stdin:
        order, given = json.loads(line)
        if order == "begin":
            session = store.sessions.create(agent="puppet")
            turn = session.turn(given["said"])
            turns[turn.id] = turn
            say(done="begin", turn=turn.id, session=session.id)
        else:
            turn = turns[given["turn"]]
            getattr(turn, given["verb"])(*given["given"], **given["named"])
            say(done=given["verb"], chunks=turn.chunks, stored=turn.stored)


def chatter(path: str, options: dict[str, Any], seed: int) -> None:
    """Turn after turn, for ever; every call reported."""
    chance = random.Random(seed)
    session = palaver.open(path, **options).sessions.create(agent="chatter")
    say(done="create", session=session.id)
    for number in range(1, 1_000_000):
        say(do="begin", said=f"question {number}")
        turn = session.turn(f"question {number}")
        say(done="begin", turn=turn.id)
        for chunks in answer(number, chance):
            say(do="append", chunks=chunks)
            turn.append(chunks)
            say(done="append")
        say(do="seal")
        turn.seal()
        say(done="seal")


def pour(path: str, options: dict[str, Any], pause: float) -> None:
    """One text without end; when each piece was given, and when it was taken."""
    turn = palaver.open(path, **options).sessions.create(agent="pouring").turn("talk")
    turn.append([{"type": "start-step"}, {"type": "text-start", "id": "t"}])
    say(done="begin", turn=turn.id)
    for number in range(1_000_000):
        before = time.monotonic()
        turn.write({"type": "text-delta", "id": "t", "delta": f"piece {number} 漢字\n"})
        say(done="write", before=before, after=time.monotonic())
        time.sleep(pause)


def power(path: str, log: str, options: dict[str, Any], turns: int) -> None:
    """Every kind of write, over a file system that keeps a log of what reached the disk."""
    palaver_open = palaver.open
    palaver.open = lambda *given, **named: palaver_open(*given, **{**named, **options, "trim_after": 1e9})
    recorder = support_power.Recorder(path, "boundary")
    session = recorder.store.sessions.create(agent="cut")
    recorder.did(boundary=True)
    for number in range(turns):
        _power_turn(recorder, session, number, ENDS[options["save_on"]])
    Path(log).write_text(json.dumps(recorder.log))
    recorder.close()


def _power_turn(recorder: support_power.Recorder, session: palaver.Session, number: int, ends: set[str]) -> None:
    turn = session.turn(f"question {number}")
    recorder.did(boundary=True)
    for step in range(2):
        call = f"call-{number}.{step}"
        for chunk in _power_step(call):
            turn.write(chunk)
            recorder.did(boundary=chunk["type"] in ends)
    turn.write({"type": "finish"})
    recorder.did(boundary="finish-step" not in ends)  # else the steps were saved before, and it is not a boundary
    turn.seal()
    recorder.did(boundary=True)


def _power_step(call: str) -> list[Chunk]:
    return [
        {"type": "start-step"},
        {"type": "text-start", "id": call},
        *({"type": "text-delta", "id": call, "delta": f"{call} {n} " * 30} for n in range(4)),
        {"type": "text-end", "id": call},
        {"type": "tool-input-available", "toolCallId": call, "toolName": "run", "input": {}},
        {"type": "tool-output-available", "toolCallId": call, "output": call},
        {"type": "finish-step"},
    ]


WORKLOADS: dict[str, Callable[..., None]] = {work.__name__: work for work in (obey, chatter, pour, power)}

if __name__ == "__main__":
    plant_from_environment()
    told = json.loads(sys.argv[1])
    WORKLOADS[told.pop("workload")](**told)
