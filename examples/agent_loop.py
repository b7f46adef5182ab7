"""An agent's loop: model, tools, model, until it calls no tool. A tool that needs a yes makes the turn wait for one."""

import sys
import tempfile
from collections.abc import Callable, Iterable
from typing import Any

import palaver

Json = dict[str, Any]
Said = str | tuple[str, Json]  # what a model says: words, or a tool and its input
TOOLS: dict[str, Callable[..., object]] = {"look": lambda: ["a.o", "b.o"], "clean": lambda: "2 files removed"}
NEEDS_A_YES = {"clean"}


def model(messages: list[Json]) -> Iterable[Said]:  # stands for a model that looks, cleans and tells
    steps: list[list[Said]] = [[("look", {})], [("clean", {})], ["Two files ", "are gone."]]
    return steps[sum(message["role"] == "tool" for message in messages)]


def go_on(turn: palaver.Turn, model: Callable[[list[Json]], Iterable[Said]] = model) -> None:
    run_what_was_answered(turn)
    while not calls(turn, "approval-requested"):  # else leave the block: the turn waits, for minutes or days
        called: list[tuple[palaver.ToolCall, Json]] = []
        for said in model(turn.model_messages()):  # what went before, and what this turn has so far
            if isinstance(said, str):
                turn.text(said)
            else:
                called.append((turn.tool(*said), said[1]))
        if not called:
            return
        for call, given in called:
            if call.name in NEEDS_A_YES:
                call.ask()
            else:
                call.output(TOOLS[call.name](**given))


def run_what_was_answered(turn: palaver.Turn) -> None:
    for part in calls(turn, "approval-responded"):
        if part["approval"]["approved"]:
            name = part["type"].removeprefix("tool-")
            turn.resolve(part["toolCallId"], output=TOOLS[name](**part["input"]))
        else:
            turn.write({"type": "tool-output-denied", "toolCallId": part["toolCallId"]})  # the model is told why


def calls(turn: palaver.Turn, state: str) -> list[Json]:
    return [part for part in turn.message()["parts"] if part.get("state") == state]


if __name__ == "__main__":
    path = sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp(prefix="palaver-") + "/talks.db"
    print("The store is", path, file=sys.stderr)
    with palaver.open(path) as store:
        session = store.sessions.create(agent="cleaner")
        with session.turn("Clean up.") as turn:
            go_on(turn)
        [asks] = calls(turn, "approval-requested")
        print(turn.status, "|", asks["type"], asks["state"])
        with session.resume(session.waiting()[0].id) as turn:  # in this process, or in any other
            turn.resolve(asks["toolCallId"], approved=True)
            go_on(turn)
        print(turn.status, "|", session.messages()[-1]["parts"][-1]["text"])
