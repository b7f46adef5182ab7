"""Tool parts as calls of the Responses API and their outputs. A part that came from another API, or was changed so
that its own item type no longer fits, is a function call."""

from __future__ import annotations

from typing import Any

from ...base import exact_json
from .. import files, openai_arguments, tool_parts
from ..conversation import Part
from ..marks import RESPONSES, RESULT
from . import content
from .kinds import FAILED, HOSTED, LOCAL


def write_call(part: Part) -> dict[str, Any] | None:
    """None where it cannot be told: a computer's call is answered by a screenshot or not at all."""
    kind = _kind(part)
    if kind == "computer_call" and not isinstance(part.get("output"), dict):
        return None
    item: dict[str, Any] = {"type": kind, **_input(part, kind), **RESPONSES.kept(part, "message")}
    if kind in LOCAL:
        item["call_id"] = part["toolCallId"]
    if RESPONSES.facts(part).get("itemId") is not None:
        item["id"] = RESPONSES.facts(part)["itemId"]
    return {**_result(part, kind), **item} if kind in HOSTED else item


def write_output(part: Part) -> dict[str, Any] | None:
    """What answers a call; None where the call has it already, or was left out."""
    kind = _kind(part)
    if kind in HOSTED or write_call(part) is None:
        return None
    marks = RESPONSES.of(part, RESULT)
    item = {"type": f"{kind}_output", "id" if marks.get("by_id") else "call_id": part["toolCallId"]}
    answer = tool_parts.answer(part)
    told = {"output": _output(part, kind, answer)}
    if kind == "apply_patch_call":
        told = {"status": FAILED if answer.failed else "completed", **({} if marks.get("silent") else told)}
    return {**item, **told, **RESPONSES.kept(part, "message", RESULT)}


def _kind(part: Part) -> str:
    kind = RESPONSES.of(part).get("item")
    given = tool_parts.given(part)
    if RESPONSES.facts(part).get("custom") and isinstance(given, str):
        return "custom_tool_call"
    if kind == "mcp_call" or (kind in {**HOSTED, **LOCAL} and isinstance(given, dict)):
        return str(kind)
    return "function_call"


def _input(part: Part, kind: str) -> dict[str, Any]:
    if kind == "custom_tool_call":
        return {"name": tool_parts.name(part), "input": tool_parts.given(part)}
    if kind in ("function_call", "mcp_call"):
        return {"name": tool_parts.name(part), "arguments": openai_arguments.text(part)}
    return dict(tool_parts.given(part))


def _result(part: Part, kind: str) -> dict[str, Any]:
    """The output fields of a hosted call; null where there was something and it is gone."""
    output = part.get("output")
    if part.get("state") != "output-available":
        return {}
    if kind == "mcp_call":
        return {} if output is None else {"output": output if isinstance(output, str) else exact_json.encode(output)}
    if kind == "image_generation_call":
        images = tool_parts.answer(part).parts or [{}]
        return {"result": files.base64(images[0].get("url", ""))}
    return output if isinstance(output, dict) else dict.fromkeys(HOSTED[kind].output)


def _output(part: Part, kind: str, answer: tool_parts.Answer) -> Any:
    if kind == "computer_call":
        return part["output"]
    if kind == "shell_call":
        return part["output"] if isinstance(part.get("output"), list) else [_ran(answer)]
    blocks = content.blocks(answer.parts or [])
    return blocks if blocks or answer.parts == [] else answer.text


def _ran(answer: tool_parts.Answer) -> dict[str, Any]:
    """A shell's output that is only known as text."""
    outcome = {"type": "exit", "exit_code": 1 if answer.failed else 0}
    return {
        "stdout": "" if answer.failed else answer.text,
        "stderr": answer.text if answer.failed else "",
        "outcome": outcome,
    }
