"""What the processes do that get killed: the jobs of `python -m tests.promises.support_saving_child`.

A job reports every call: `do` before it, `done` when it returned."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import palaver

from ..tools.actor import act  # noqa: F401  a job
from ..tools.chunks import STEP, STEP_ENDS, Chunk, call, delta, metadata, result, user
from ..tools.chunks import text as whole_text
from ..tools.puppet import die, play, say
from . import support_power

ENDS = {"chunk": set[str](), "step": {"finish-step", "finish"}, "turn": {"finish"}}


def do(verb: str, **more: Any) -> None:
    say({"do": verb, **more})


def done(verb: str, **more: Any) -> None:
    say({"done": verb, **more})


def park() -> NoReturn:
    """Stay alive and do nothing until somebody ends us."""
    done("parked")
    sys.stdin.read()
    die()


# ---------------------------------------------------------------- streams


def answer(number: int, chance: random.Random) -> Iterator[list[Chunk]]:
    """Calls of `append` that stream one answer: steps of text, tool calls and data, each step with its usage."""
    yield [{"type": "start", "messageId": f"answer-{number}"}]
    used = 0
    for step in range(chance.randint(1, 3)):
        yield [STEP]
        yield from text(f"{number}.{step}", chance)
        if chance.random() < 0.7:
            yield from tool(f"call-{number}.{step}", chance)
        if chance.random() < 0.3:
            yield [{"type": "data-note", "data": {"at": f"{number}.{step}", "n": [1, 2.5, None]}}]
        used += chance.randint(1, 50)
        usage = {"input": used * 3, "output": used, "cache_read": used * 7}
        yield [metadata(usage=usage), STEP_ENDS]
    yield [{"type": "finish", "finishReason": "stop"}]


def text(name: str, chance: random.Random) -> Iterator[list[Chunk]]:
    yield [{"type": "text-start", "id": f"text-{name}"}]
    for word in range(chance.randint(2, 9)):
        yield [{"type": "text-delta", "id": f"text-{name}", "delta": f"word {name}.{word} „naïve“ 漢字 \U0001f4a9\n"}]
    yield [{"type": "text-end", "id": f"text-{name}"}]


def tool(call: str, chance: random.Random) -> Iterator[list[Chunk]]:
    yield [{"type": "tool-input-start", "toolCallId": call, "toolName": "run"}]
    yield [{"type": "tool-input-delta", "toolCallId": call, "inputTextDelta": '{"command": "mak'}]
    yield [{"type": "tool-input-delta", "toolCallId": call, "inputTextDelta": 'e test"}'}]
    yield [{"type": "tool-input-available", "toolCallId": call, "toolName": "run", "input": {"command": "make test"}}]
    if chance.random() < 0.5:
        yield [{"type": "tool-output-available", "toolCallId": call, "output": {"said": f"ok {call}"}}]
    else:
        yield [{"type": "tool-output-error", "toolCallId": call, "errorText": f"no {call}"}]


# ---------------------------------------------------------------- jobs


def chatter(path: str, seed: int, **options: Any) -> None:
    """Turn after turn, for ever; every call reported."""
    chance = random.Random(seed)
    session = palaver.open(path, **options).sessions.create(agent="chatter")
    done("create", session=session.id)
    for number in range(1, 1_000_000):
        do("begin", said=f"question {number}")
        turn = session.turn(f"question {number}")
        done("begin", turn=turn.id)
        for chunks in answer(number, chance):
            do("append", chunks=chunks)
            turn.append(chunks)
            done("append")
        do("seal")
        turn.seal()
        done("seal")


def pour(path: str, pause: float, **options: Any) -> None:
    """One text without end; when each piece was given, and when it was taken."""
    turn = palaver.open(path, **options).sessions.create(agent="pouring").turn("talk")
    turn.append([STEP, {"type": "text-start", "id": "t"}])
    done("begin", turn=turn.id)
    for number in range(1_000_000):
        before = time.monotonic()
        turn.write(delta(f"piece {number} 漢字\n"))
        done("write", before=before, after=time.monotonic())
        time.sleep(pause)


def model_stub(path: str, verb: str, said: str) -> None:
    """Ask a model, and die in the moment in which it is called."""
    session = palaver.open(path).sessions.create(agent="asker")
    session.commit([{"role": "user", "content": "before"}, {"role": "assistant", "content": "earlier answer"}])
    verbs: dict[str, Callable[[], palaver.Turn]] = {
        "text": lambda: session.turn(said),
        "message": lambda: session.turn(user(said)),
        "edit": lambda: session.edit(session.messages()[0]["id"], said),
    }
    verbs[verb]()
    done("called", session=session.id)  # this is the model: it has the prompt now
    die()


def script(path: str, turns: list[list[list[Chunk]]], usage: Any = None, stays: bool = False) -> None:
    """Append what is asked for, then die or stay."""
    session = palaver.open(path).sessions.create(agent="scripted")
    begun = [session.turn(f"question {n}") for n in range(len(turns))]
    done("begin", session=session.id, turns=[turn.id for turn in begun])
    for turn, calls in zip(begun, turns, strict=True):
        for chunks in calls:
            turn.append(chunks)
        if usage is not None:
            turn.usage(**usage)
    park() if stays else die()


def stream(path: str, pieces: list[str], in_step: bool) -> None:
    """One long text, each piece reported when it is kept; in step, the next one only when somebody asked for it."""
    store = palaver.open(path)
    session = store.sessions.create(agent="streamer")
    with session.turn("talk to me") as turn:
        turn.append([STEP, {"type": "text-start", "id": "t"}])
        done("create", session=session.id)
        for piece in pieces:
            if in_step:
                sys.stdin.readline()
            turn.write(delta(piece))
            done("write")
        turn.write({"type": "text-end", "id": "t"})
        done("write")
        turn.write({"type": "finish"})
    store.close()


def commits(path: str, session: str, wins: int) -> None:
    """Win a number of races for the head of a session."""
    store = palaver.open(path)
    talk, won = store.sessions.get(session), 0
    while won < wins:
        try:
            talk.commit(f"{os.getpid()} {won}", expected=talk.revision)
            won += 1
            done("commit")
        except palaver.HeadConflict:
            pass
    store.close()


def walks(path: str, session: str) -> None:
    """Look for a session's family."""
    with palaver.open(path) as store:
        talk = store.sessions.get(session)
        done("walk", ancestors=talk.ancestors()[:10], descendants=talk.descendants()[:10])


# ---------------------------------------------------------------- over a file system that keeps a log


def power(path: str, log: str, durability: str, turns: int) -> None:
    """Every kind of write, and what reached the disk."""
    support_power.record(path, log, durability, turns)


def power_of_a_policy(path: str, log: str, options: dict[str, Any], turns: int) -> None:
    """The same with a save policy."""
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
        for chunk in _power_step(f"call-{number}.{step}"):
            turn.write(chunk)
            recorder.did(boundary=chunk["type"] in ends)
    turn.write({"type": "finish"})
    recorder.did(boundary="finish-step" not in ends)  # else the steps were saved before, and it is not a boundary
    turn.seal()
    recorder.did(boundary=True)


def _power_step(name: str) -> list[Chunk]:
    return [
        STEP,
        *whole_text([f"{name} {n} " * 30 for n in range(4)], name),
        call(name),
        result(name, name),
        STEP_ENDS,
    ]


if __name__ == "__main__":
    play()
