"""An agent's loop: model, tools, model, until it calls no tool. A tool that needs a yes makes the turn wait for one."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import palaver

Json = dict[str, Any]
TOOLS: dict[str, Callable[..., object]] = {"tool-look": lambda: ["a.o", "b.o"], "tool-clean": lambda: "2 files removed"}


def model(messages: list[Json]) -> Iterator[Json]:  # stands for a model that looks, cleans and tells
    results = sum(message["role"] == "tool" for message in messages)
    yield {"type": "start-step"}
    if results < 2:
        name = ("look", "clean")[results]
        yield {"type": "tool-input-available", "toolCallId": f"{name}-1", "toolName": name, "input": {}}
    else:
        yield {"type": "text-start", "id": "t"}
        yield {"type": "text-delta", "id": "t", "delta": "Two files are gone."}
        yield {"type": "text-end", "id": "t"}
    yield {"type": "finish-step"}


def calls(turn: palaver.Turn, *states: str) -> list[Json]:
    return [part for part in turn.message()["parts"] if part.get("state") in states]


def settle(call: Json) -> Json:
    call_id = call["toolCallId"]
    if call["type"] == "tool-clean" and "approval" not in call:
        return {"type": "tool-approval-request", "approvalId": f"may-{call_id}", "toolCallId": call_id}
    if "approval" in call and not call["approval"]["approved"]:
        return {"type": "tool-output-denied", "toolCallId": call_id}
    tool = TOOLS[call["type"]]
    return {"type": "tool-output-available", "toolCallId": call_id, "output": tool(**call["input"])}


def go_on(turn: palaver.Turn, model: Callable[[list[Json]], Iterator[Json]] = model) -> None:
    while True:
        for call in calls(turn, "input-available", "approval-responded"):
            turn.write(settle(call))
        if calls(turn, "approval-requested"):
            return turn.wait()  # for minutes or days
        for chunk in model(turn.model_messages()):  # what went before, and what this turn has so far
            turn.write(chunk)
        if not calls(turn, "input-available"):
            return


if __name__ == "__main__":
    path = sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp(prefix="palaver-") + "/talks.db"
    print("The store is", path, file=sys.stderr)
    with palaver.open(path) as store:
        session = store.sessions.create(agent="cleaner")
        with session.turn("Clean up.") as turn:
            go_on(turn)
        with session.resume(session.waiting()[0].id) as turn:  # in this process, or in any other
            turn.resolve("clean-1", approved=True)
            go_on(turn)
        print(turn.status, "|", session.messages()[-1]["parts"][-1]["text"])
