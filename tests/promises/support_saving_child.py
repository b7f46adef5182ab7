"""What the processes do that get killed: `python -m tests.promises.support_saving_child '{"workload": …}'`."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import palaver

from . import support_power
from .sabotage import plant_from_environment

Options = dict[str, Any]
Chunk = dict[str, Any]


def say(**line: Any) -> None:
    os.write(1, json.dumps(line).encode() + b"\n")


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def park() -> NoReturn:
    """Stay alive and do nothing until somebody ends us."""
    say(done="parked")
    sys.stdin.read()
    die()


# ---------------------------------------------------------------- streams


def answer(number: int, chance: random.Random) -> Iterator[list[Chunk]]:
    """Calls of `append` that stream one answer: steps of text, tool calls and data, each step with its usage."""
    yield [{"type": "start", "messageId": f"answer-{number}"}]
    used = 0
    for step in range(chance.randint(1, 3)):
        yield [{"type": "start-step"}]
        yield from text(f"{number}.{step}", chance)
        if chance.random() < 0.7:
            yield from tool(f"call-{number}.{step}", chance)
        if chance.random() < 0.3:
            yield [{"type": "data-note", "data": {"at": f"{number}.{step}", "n": [1, 2.5, None]}}]
        used += chance.randint(1, 50)
        usage = {"input": used * 3, "output": used, "cache_read": used * 7}
        yield [{"type": "message-metadata", "messageMetadata": {"usage": usage}}, {"type": "finish-step"}]
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


# ---------------------------------------------------------------- workloads


def chatter(options: Options) -> None:
    """Turn after turn, for ever; every call reported."""
    chance = random.Random(options["seed"])
    store = palaver.open(options["path"])
    session = store.sessions.create(agent="chatter")
    say(done="create", session=session.id)
    number = 0
    while True:
        number += 1
        said = f"question {number}"
        say(do="begin", said=said)
        turn = session.turn(said)
        say(done="begin", turn=turn.id)
        for chunks in answer(number, chance):
            say(do="append", chunks=chunks)
            turn.append(chunks)
            say(done="append")
        say(do="seal")
        turn.seal()
        say(done="seal")


def model_stub(options: Options) -> None:
    """Ask a model, and die in the moment in which it is called."""
    store = palaver.open(options["path"])
    session = store.sessions.create(agent="asker")
    session.commit([{"role": "user", "content": "before"}, {"role": "assistant", "content": "earlier answer"}])
    verbs: dict[str, Callable[[], palaver.Turn]] = {
        "text": lambda: session.turn(options["said"]),
        "message": lambda: session.turn({"role": "user", "parts": [{"type": "text", "text": options["said"]}]}),
        "edit": lambda: session.edit(session.messages()[0]["id"], options["said"]),
    }
    verbs[options["verb"]]()
    say(done="called", session=session.id)  # this is the model: it has the prompt now
    die()


def script(options: Options) -> None:
    """Append what is asked for, then die or stay."""
    store = palaver.open(options["path"])
    session = store.sessions.create(agent="scripted")
    turns = [session.turn(f"question {n}") for n in range(len(options["turns"]))]
    say(done="begin", session=session.id, turns=[turn.id for turn in turns])
    for turn, calls in zip(turns, options["turns"], strict=True):
        for chunks in calls:
            turn.append(chunks)
        if "usage" in options:
            turn.usage(**options["usage"])
    park() if options.get("park") else die()


def stream(options: Options) -> None:
    """One long text, each piece reported when it is kept; in step, the next one only when somebody asked for it."""
    store = palaver.open(options["path"])
    session = store.sessions.create(agent="streamer")
    with session.turn("talk to me") as turn:
        turn.append([{"type": "start-step"}, {"type": "text-start", "id": "t"}])
        say(done="create", session=session.id)
        for piece in options["pieces"]:
            if options["in_step"]:
                sys.stdin.readline()
            turn.write({"type": "text-delta", "id": "t", "delta": piece})
            say(done="write")
        turn.write({"type": "text-end", "id": "t"})
        say(done="write")
        turn.write({"type": "finish"})
    store.close()


def commits(options: Options) -> None:
    """Win a number of races for the head of a session."""
    store = palaver.open(options["path"])
    session = store.sessions.get(options["session"])
    wins = 0
    while wins < options["wins"]:
        try:
            session.commit(f"{os.getpid()} {wins}", expected=session.revision)
            wins += 1
            say(done="commit")
        except palaver.HeadConflict:
            pass
    store.close()


def walks(options: Options) -> None:
    """Look for a session's family."""
    store = palaver.open(options["path"])
    session = store.sessions.get(options["session"])
    say(done="walk", ancestors=session.ancestors()[:10], descendants=session.descendants()[:10])
    store.close()


def power(options: Options) -> None:
    """Every kind of write, over a file system that keeps a log of what reached the disk."""
    support_power.record(options["path"], options["log"], options["durability"], options["turns"])


WORKLOADS = {work.__name__: work for work in (chatter, model_stub, script, stream, commits, walks, power)}

if __name__ == "__main__":
    plant_from_environment()
    given = json.loads(sys.argv[1])
    WORKLOADS[given["workload"]](given)
