"""What the APIs demand of a conversation, after their documentation: each function raises where it is not so."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

CALLS = {
    *("function_call", "custom_tool_call", "computer_call"),
    *("local_shell_call", "shell_call", "apply_patch_call"),
}


def chat(messages: list[dict[str, Any]]) -> None:
    waiting: list[str] = []  # ids that the next messages must answer
    for message in messages:
        role, content = message["role"], message.get("content")
        if role == "tool":
            assert message["tool_call_id"] in waiting, "a result right behind its call"
            waiting.remove(message["tool_call_id"])
            assert all(block["type"] == "text" for block in content) if isinstance(content, list) else True
            continue
        assert not waiting, f"{waiting} are not answered"
        if role == "assistant":
            waiting = [call["id"] for call in message.get("tool_calls", [])]
            assert "tool_calls" not in message or waiting
            assert content is not None or len(message.keys() - {"role", "content"}) > 0
            _texts(content, "text", "refusal")
        elif role in ("system", "developer"):
            _texts(content, "text")
        elif role == "user":
            _texts(content, "text", "image_url", "input_audio", "file")
        else:
            assert role == "function"
    assert not waiting


def responses(items: list[dict[str, Any]]) -> None:
    open_calls: list[tuple[str, str]] = []
    for item in items:
        kind = item.get("type", "message")
        if kind in CALLS:
            open_calls.append((kind, item["call_id"]))
            assert isinstance(item.get("arguments", ""), str)
        elif kind.removesuffix("_output") in CALLS and kind.endswith("_output"):
            open_calls.remove((kind.removesuffix("_output"), item.get("call_id", item.get("id"))))
        elif kind == "message":
            assert item["role"] in ("system", "developer", "user", "assistant") and item["content"] not in (None, [])
            if item["role"] == "assistant":
                _texts(item["content"], "output_text", "input_text", "refusal")
            else:
                _texts(item["content"], "input_text", "input_image", "input_file")
        elif kind == "reasoning":
            assert item.get("id") or item.get("encrypted_content")
    assert not open_calls, f"{open_calls} are not answered"


def anthropic(given: tuple[Any, list[dict[str, Any]]]) -> None:
    system, messages = given
    _texts(system, "text")
    roles = [message["role"] for message in messages if message["role"] != "system"]
    assert all(one != other for one, other in pairwise(roles)), "roles alternate"
    seen: set[str] = set()
    waiting: set[str] = set()
    for number, message in enumerate(messages):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        assert blocks
        results = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        assert results == waiting, "every call is answered in the next message"
        assert all(block["type"] == "tool_result" for block in blocks[: len(results)]), "results come first"
        waiting = _uses(blocks, seen)
        _server_tools(blocks, is_last=number == len(messages) - 1)
        assert message["role"] == "assistant" or not waiting
        for block in blocks:
            assert block["type"] != "text" or block["text"].strip(), "no blank text"
            assert block["type"] != "thinking" or block["signature"]
            assert message["role"] == "user" or block["type"] not in ("image", "document")
    assert not waiting


def _uses(blocks: list[dict[str, Any]], seen: set[str]) -> set[str]:
    found = set()
    for block in blocks:
        if block["type"] == "tool_use":
            assert re.fullmatch("[a-zA-Z0-9_-]+", block["id"]) and block["id"] not in seen
            assert isinstance(block["input"], dict)
            seen.add(block["id"])
            found.add(block["id"])
    return found


def _server_tools(blocks: list[dict[str, Any]], *, is_last: bool) -> None:
    called: list[str] = []
    for block in blocks:
        if block["type"] in ("server_tool_use", "mcp_tool_use"):
            called.append(block["id"])
        elif block["type"].endswith("_tool_result"):
            called.remove(block["tool_use_id"])
    assert is_last or not called


def _texts(content: Any, *kinds: str) -> None:
    assert content is None or isinstance(content, str) or {block["type"] for block in content} <= {*kinds}
