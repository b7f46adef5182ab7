"""Whether parts of UIMessages have what makes them what they are."""

from __future__ import annotations

from typing import Any

from ..aisdk.parts import is_tool
from ..errors import BadValue
from .looking import check, may, need
from .marks import WHOLE

_NEEDED = {"text": ("text",), "reasoning": ("text",), "file": ("mediaType", "url"), "dynamic-tool": ("toolName",)}


def check_part(part: Any, at: str) -> None:
    kind = need(check(part, at, dict), "type", at, str)
    for key in (*_NEEDED.get(kind, ()), *(("toolCallId",) if is_tool(kind) else ())):
        need(part, key, at, str)
    if kind == "file":
        may(part, "filename", at, str)
    if kind in WHOLE:
        need(part, "data", at, dict)


def are_parts(values: Any) -> bool:
    """Whether somebody's list is one of parts."""
    try:
        for value in check(values, "parts", list):
            check_part(value, "part")
    except BadValue:
        return False
    return True
