"""Tool parts as Anthropic's blocks: a call, and its result for the next message, or for the same if it ran over
there."""

from __future__ import annotations

import re
from typing import Any

from .. import files, tool_parts
from ..checking import are_parts
from ..conversation import Part
from ..marks import MESSAGES, RESULT
from . import content
from .reading import SERVER

_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")


class Ids:
    """Ids as the API wants them: of few characters, and each only once. Those that are so already stay."""

    def __init__(self) -> None:
        self._given: dict[int, str] = {}  # by part
        self._taken: set[str] = set()

    def give(self, part: Part) -> str:
        wanted = _UNFIT.sub("_", part["toolCallId"]) or "call"
        found, count = wanted, 1
        while found in self._taken:
            count += 1
            found = f"{wanted}_{count}"
        self._taken.add(found)
        self._given[id(part)] = found
        return found

    def of(self, part: Part) -> str:
        return self._given[id(part)]


def is_server(part: Part) -> bool:
    return MESSAGES.of(part).get("item") in SERVER and isinstance(part.get("input"), dict)


def use(part: Part, call_id: str) -> dict[str, Any]:
    given = tool_parts.given(part)
    if not isinstance(given, dict):
        given = {} if given is None else {"input": given}  # it must be an object
    kind = MESSAGES.of(part)["item"] if is_server(part) else "tool_use"
    return {"type": kind, "id": call_id, "name": tool_parts.name(part), "input": given, **content.kept(part)}


def result(part: Part, call_id: str) -> dict[str, Any]:
    answer = tool_parts.answer(part)
    block = {"type": "tool_result", "tool_use_id": call_id, **_content(part, answer)}
    return {**block, **({"is_error": True} if answer.failed else {}), **content.kept(part, RESULT)}


def _content(part: Part, answer: tool_parts.Answer) -> dict[str, Any]:
    marks = MESSAGES.of(part, RESULT)
    if marks.get("shape") == "none" and not answer.text:
        return {}
    parts = answer.parts
    if answer.failed and are_parts(marks.get("content")) and files.in_words(marks["content"]) == answer.text:
        parts = marks["content"]
    return {"content": answer.text if parts is None else content.blocks(parts)}


# ---------------------------------------------------------------- tools that run over there


def place(part: Part) -> int | None:
    """Where in the answer a result stood that was not right behind its call."""
    return MESSAGES.of(part, RESULT).get("place")


def server_result(part: Part, goes_on: bool) -> dict[str, Any] | None:
    """The result of a call; None if it has none and may still get one."""
    marks, output = MESSAGES.of(part, RESULT), part.get("output")
    block = {"type": marks.get("item"), "tool_use_id": part["toolCallId"]}
    kept = content.kept(part, RESULT)
    if part.get("state") == "output-error" and "content" in marks:
        return {**block, "content": marks["content"], **kept}
    if part.get("state") == "output-available" and "item" in marks:
        if isinstance(output, list | dict) or marks["item"] == "mcp_tool_result":
            return {**block, **({} if output is None else {"content": output}), **kept}
    elif goes_on and not tool_parts.is_answered(part):
        return None
    return _unavailable(part)


def _unavailable(part: Part) -> dict[str, Any]:
    """What is told of a call whose result is not there, or no longer."""
    if MESSAGES.of(part)["item"] == "mcp_tool_use":
        words = [{"type": "text", "text": tool_parts.answer(part).text}]
        return {"type": "mcp_tool_result", "tool_use_id": part["toolCallId"], "is_error": True, "content": words}
    name = tool_parts.name(part)
    kind = "tool_search_tool_result" if name.startswith("tool_search_tool_") else f"{name}_tool_result"
    error = {"type": f"{kind}_error", "error_code": "unavailable"}
    return {"type": kind, "tool_use_id": part["toolCallId"], "content": error}
