"""Parts of a UIMessage: which are tool calls, whether they have ended, and what is hoisted out of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base import exact_json
from ..base.exact_json import Raw

FINAL = frozenset({"output-available", "output-error", "output-denied"})  # states of a tool call that has ended
COMPACTION = "data-compaction"
TOOL_ROW = "data-tool-row"  # a row of a dialect that is no message: neither a model nor an AI SDK view sees it
INTERRUPTED = "interrupted"  # the error of a tool call that ended without a result


def is_tool(kind: Any) -> bool:
    """Whether a part of this type is a tool call. What is no text is none."""
    return isinstance(kind, str) and (kind.startswith("tool-") or kind == "dynamic-tool")


def is_open_tool(part: Any) -> bool:
    """A tool call without a final result."""
    if not isinstance(part, dict) or not is_tool(part.get("type")):
        return False
    return part.get("state") not in FINAL or bool(part.get("preliminary"))


def tool_columns(part: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """The call id and the state, which a row keeps in columns of their own. data_json holds what they cannot."""
    if not is_tool(part["type"]):
        return None, None
    return _fit(part.get("toolCallId")), _fit(part.get("state"))


def _fit(given: Any) -> str | None:
    text = exact_json.parse(given) if isinstance(given, Raw) else given
    if isinstance(text, str) and exact_json.fits_column(text) and exact_json.size_of(text) <= exact_json.LONGEST_KEY:
        return text
    return None
