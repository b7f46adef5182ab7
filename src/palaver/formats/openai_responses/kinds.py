"""The tools of the Responses API that have item types of their own.

Of each: the tool's name, the fields that are its input, those that are its output. `HOSTED` are run by OpenAI, and
one item holds both; `LOCAL` are run by the caller, who answers with an item of another type. All other fields of an
item stay with the part. Items of other types are kept whole, as data.
"""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    name: str | None  # None: the item says it
    input: tuple[str, ...]
    output: tuple[str, ...] = ()


HOSTED = {
    "web_search_call": Kind("web_search", ("action",)),
    "file_search_call": Kind("file_search", ("queries",), ("results",)),
    "code_interpreter_call": Kind("code_interpreter", ("code", "container_id"), ("outputs",)),
    "image_generation_call": Kind("image_generation", (), ("result",)),
    "mcp_call": Kind(None, ("arguments",), ("output",)),
}
LOCAL = {
    "function_call": Kind(None, ("arguments",)),
    "custom_tool_call": Kind(None, ("input",)),
    "computer_call": Kind("computer", ("action", "actions")),
    "local_shell_call": Kind("local_shell", ("action",)),
    "shell_call": Kind("shell", ("action",)),
    "apply_patch_call": Kind("apply_patch", ("operation",)),
}
OUTPUTS = {f"{call}_output": call for call in LOCAL}
AS_CONTENT = ("function_call", "custom_tool_call")  # those whose output is text or blocks
FAILED = "failed"
