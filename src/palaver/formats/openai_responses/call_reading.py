"""Tool calls of the Responses API and their outputs, as parts."""

from __future__ import annotations

from typing import Any

from ...base import exact_json
from .. import files, openai_arguments, tool_parts
from ..assembling import Assembly
from ..conversation import Part
from ..looking import may, need, rest
from ..marks import RESPONSES, RESULT
from . import content
from .kinds import AS_CONTENT, FAILED, HOSTED, LOCAL, OUTPUTS, Kind


def called(item: dict[str, Any], at: str) -> Part:
    """The part of a call; a hosted one has its result already."""
    kind: str = item["type"]
    of = HOSTED.get(kind) or LOCAL[kind]
    call_id = need(item, "id" if kind in HOSTED else "call_id", at, str)
    part = _call(item, at, of, call_id)
    RESPONSES.tell(part, itemId=may(item, "id", at, str), custom=kind == "custom_tool_call")
    taken = ("type", "call_id", *(["id"] if item.get("id") is not None else []), *of.input)
    if kind in HOSTED:
        part["providerExecuted"] = True
        shown = _take_result(part, item, of)
        taken = (*taken, *shown)
    name = ("name",) if of.name is None else ()
    RESPONSES.mark(part, item=None if kind == "function_call" else kind, message=rest(item, *taken, *name))
    return part


def _call(item: dict[str, Any], at: str, of: Kind, call_id: str) -> Part:
    name = of.name or need(item, "name", at, str)
    if of.input == ("arguments",):
        return openai_arguments.called(name, call_id, need(item, "arguments", at, str))
    if item["type"] == "custom_tool_call":
        return tool_parts.called(name, call_id, need(item, "input", at, str))
    return tool_parts.called(name, call_id, {key: item[key] for key in of.input if key in item})


def _take_result(part: Part, item: dict[str, Any], of: Kind) -> tuple[str, ...]:
    """The result of a hosted call, if it has ended; answers the fields that are in it."""
    output = {key: item[key] for key in of.output if item.get(key) is not None}
    if item.get("error") is not None or item.get("status") == FAILED:
        error = item.get("error") or FAILED
        tool_parts.fail(part, error if isinstance(error, str) else exact_json.encode(error))
        return ()
    if not output and item.get("status") != "completed":
        return ()
    if item["type"] == "image_generation_call" and isinstance(item.get("result"), str):
        media_type = f"image/{item.get('output_format', 'png')}"
        image = files.file(media_type, files.data_url(media_type, item["result"]))
        tool_parts.take_content(part, RESPONSES, [item["result"]], [image])
    elif item["type"] == "mcp_call":
        tool_parts.take_content(part, RESPONSES, item.get("output"), [])
    else:
        tool_parts.succeed(part, output)
    return tuple(output)


def take_output(assembly: Assembly, index: int, item: dict[str, Any], at: str) -> None:
    """What the caller answers. A local shell's output may name its call as `id`."""
    kind = OUTPUTS[item["type"]]
    key = "id" if kind == "local_shell_call" and "call_id" not in item else "call_id"
    call_id = need(item, key, at, str)
    output = item.get("output") if kind == "apply_patch_call" else need(item, "output", at, str, list, dict)
    parts = content.parts(output, f"{at}.output") if kind in AS_CONTENT and isinstance(output, list) else []
    part = assembly.answer(index, "tool", call_id, item)
    if part is None:
        return
    if item.get("status") == FAILED:
        tool_parts.fail(part, output if isinstance(output, str) else FAILED)
    elif kind in AS_CONTENT:
        tool_parts.take_content(part, RESPONSES, output, parts)
    else:
        tool_parts.succeed(part, output)
    taken = (key, "type", *(["output"] if output is not None else []))
    RESPONSES.mark(part, RESULT, by_id=key == "id", silent=output is None, message=rest(item, *taken))
