"""Which format a decoded JSON value looks like. Every item must fit; of several that fit (texts fit all) it is the
first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .openai_responses.kinds import HOSTED, LOCAL, OUTPUTS

AISDK, OPENAI, RESPONSES, ANTHROPIC = "aisdk", "openai", "openai-responses", "anthropic"
_CHAT_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}
_CHAT_BLOCKS = {"text", "refusal", "image_url", "input_audio", "file"}
_RESPONSES_BLOCKS = {"input_text", "output_text", "refusal", "input_image", "input_file"}
_RESPONSES_ITEMS = {*HOSTED, *LOCAL, *OUTPUTS, "message", "reasoning", "item_reference", "compaction"}
_ANTHROPIC_BLOCKS = {
    *("text", "image", "document", "search_result", "thinking", "redacted_thinking", "tool_use", "tool_result"),
    *("server_tool_use", "mcp_tool_use", "container_upload", "compaction", "mid_conv_system"),
}


def sniff(value: Any) -> str | None:
    """aisdk, openai, openai-responses or anthropic; None if it is none of them. The value is the array itself, or a
    request or an answer that holds it."""
    items, names = _open(value)
    if not items:
        return None
    return next((name for name in names if all(_fits(name, item) for item in items)), None)


def nearest(value: Any, wanted: tuple[str, ...]) -> str:
    """The format in which most of a value is known, item by item and block by block; of equals the wanted ones are
    first, as they stand."""
    items, names = _open(value)
    possible = [*(name for name in wanted if name in names), *(name for name in names if name not in wanted)]
    return max(
        possible or wanted, key=lambda name: sum(_fits(name, piece) for item in items for piece in _pieces(item))
    )


def _pieces(item: Any) -> list[Any]:
    """An item with each of its blocks alone."""
    blocks = item.get("content") if isinstance(item, dict) else None
    return [{**item, "content": [block]} for block in blocks] if isinstance(blocks, list) and blocks else [item]


def _fits(name: str, item: Any) -> bool:
    return isinstance(item, dict) and _FITS[name](item)


def _open(value: Any) -> tuple[list[Any], list[str]]:
    """The items, and the formats that what is around them leaves possible."""
    if isinstance(value, list):
        return value, [AISDK, OPENAI, ANTHROPIC, RESPONSES]
    if not isinstance(value, dict):
        return [], []
    for key in ("input", "output"):
        if isinstance(value.get(key), list):
            return value[key], [RESPONSES]
    if isinstance(value.get("input"), str) and "messages" not in value and "model" in value:
        return [{"role": "user", "content": value["input"]}], [RESPONSES]
    messages = value.get("messages")
    if not isinstance(messages, list):
        return [], []
    return messages, [ANTHROPIC] if "system" in value else [AISDK, OPENAI, ANTHROPIC]


def _is_aisdk(item: dict[str, Any]) -> bool:
    parts = item.get("parts")
    has_parts = isinstance(parts, list) and all(_type(part) is not None for part in parts)
    return has_parts and _role(item) in ("system", "user", "assistant")


def _is_chat(item: dict[str, Any]) -> bool:
    if _role(item) not in _CHAT_ROLES or "type" in item:
        return False
    content = item.get("content")
    if content is None:
        return item["role"] == "assistant" or "content" in item
    return isinstance(content, str) or _holds(content, _CHAT_BLOCKS.__contains__)


def _is_responses(item: dict[str, Any]) -> bool:
    kind = item.get("type", "message" if "role" in item else None)
    if kind != "message":
        return isinstance(kind, str) and (kind in _RESPONSES_ITEMS or kind.endswith(("_call", "_output", "_tools")))
    roles = ("system", "developer", "user", "assistant")
    content = item.get("content")
    fits = isinstance(content, str) or _holds(content, _RESPONSES_BLOCKS.__contains__)
    return _role(item) in roles and fits and "tool_calls" not in item


def _is_anthropic(item: dict[str, Any]) -> bool:
    if _role(item) not in ("user", "assistant", "system") or "tool_calls" in item:
        return False
    content = item.get("content")
    return isinstance(content, str) or _holds(content, _is_anthropic_block)


def _is_anthropic_block(kind: str) -> bool:
    return kind in _ANTHROPIC_BLOCKS or kind.endswith("_tool_result")


def _holds(content: Any, fits: Callable[[str], bool]) -> bool:
    return isinstance(content, list) and all((kind := _type(block)) is not None and fits(kind) for block in content)


def _role(item: dict[str, Any]) -> str:
    return str(item.get("role"))


def _type(block: Any) -> str | None:
    kind = block.get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) else None


_FITS: dict[str, Callable[[dict[str, Any]], bool]] = {
    AISDK: _is_aisdk,
    OPENAI: _is_chat,
    RESPONSES: _is_responses,
    ANTHROPIC: _is_anthropic,
}
