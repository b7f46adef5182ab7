"""Tool parts: made of a call and its result, and told as a call and its result again."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..aisdk.parts import INTERRUPTED
from ..base import exact_json
from . import files
from .checking import are_parts
from .conversation import Part
from .marks import ALL, RESULT, Marks

DENIED = "Tool call execution denied."  # what the AI SDK tells a model


def called(name: str, call_id: str, given: Any) -> Part:
    """A call without a result. A name that no type of a part could hold has a field of its own."""
    kind = {"type": f"tool-{name}"} if name and name.isprintable() else {"type": "dynamic-tool", "toolName": name}
    return {**kind, "toolCallId": call_id, "state": "input-available", "input": given}


def succeed(part: Part, output: Any) -> None:
    part |= {"state": "output-available", "output": output}


def fail(part: Part, text: str) -> None:
    part |= {"state": "output-error", "errorText": text}


def take_content(part: Part, marks: Marks, content: Any, parts: list[Part]) -> None:
    """A result as the APIs give one: text, or blocks, which are these parts; or nothing."""
    succeed(part, parts if isinstance(content, list) else content)
    marks.mark(part, RESULT, shape=shape_of(content))


def shape_of(content: Any) -> str | None:
    """How content was given, where that is not as text."""
    return "blocks" if isinstance(content, list) else "none" if content is None else None


class Answer(NamedTuple):
    """What a model is told of a call: always something. `parts` is there where the tool answered in parts."""

    text: str
    parts: list[Part] | None = None
    failed: bool = False


def name(part: Part) -> str:
    return str(part["toolName"] if part["type"] == "dynamic-tool" else part["type"].removeprefix("tool-"))


def answer(part: Part) -> Answer:
    state = part.get("state")
    if state == "output-available":
        return _output(part)
    if state == "output-error":
        return Answer(str(part.get("errorText", INTERRUPTED)), failed=True)
    if state == "output-denied":
        approval = part.get("approval")
        why = approval.get("reason") if isinstance(approval, dict) else None
        return Answer(why if isinstance(why, str) else DENIED, failed=True)
    return Answer(INTERRUPTED, failed=True)


def given(part: Part) -> Any:
    """What the tool was called with; of a call that was not whole, what there is of it."""
    return part["input"] if "input" in part else part.get("rawInput", {})


def is_answered(part: Part) -> bool:
    return part.get("state") in ("output-available", "output-error", "output-denied")


def in_order(calls: list[Part], marks: Marks) -> list[Part]:
    """The calls of a step in the order in which their results came."""
    places = {id(part): marks.of(part, RESULT).get("order", place) for place, part in enumerate(calls)}
    return sorted(calls, key=lambda part: places[id(part)])


def _output(part: Part) -> Answer:
    output: Any = part.get("output")
    shapes = [marks.of(part, RESULT).get("shape") for marks in ALL]
    if "blocks" in shapes and are_parts(output):
        return Answer(files.in_words(output), output)
    if isinstance(output, str):
        return Answer(output)
    return Answer("" if output is None and "none" in shapes else exact_json.encode(output))
