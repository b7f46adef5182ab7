"""What a message or a turn is recognised by: its first words, its answer, its summary. Not yet safe to print."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from palaver import StoredMessage
from palaver.aisdk.parts import COMPACTION, is_tool

from .render import parsed

_ENOUGH = 400  # characters that may be looked at for first words


def first_words(message: StoredMessage) -> str:
    """Its first text."""
    return next((_one_line(part["text"]) for part in _parts(message) if _is_said(part)), "")


def answer(message: StoredMessage) -> str:
    """The text that a message ends with: what was said after the last tool call that anything followed."""
    found: list[str] = []
    for part in reversed(_parts(message)):
        if _is_said(part):
            found.append(part["text"].strip("\n"))
        elif found and (is_tool(part.get("type")) or part.get("type") == "step-start"):
            break
    return "\n\n".join(reversed(found))


def summary(messages: Iterable[StoredMessage]) -> str:
    """Of a compaction: what stands for the turns before it."""
    datas = (part.get("data") for message in messages for part in _parts(message) if part.get("type") == COMPACTION)
    return next((_one_line(str(data.get("summary") or "")) for data in datas if isinstance(data, dict)), "")


def calls(message: StoredMessage) -> dict[str, str]:
    """Its tool calls: the id of each, and the tool's name."""
    tools = (part for part in _parts(message) if is_tool(part.get("type")))
    return {str(part.get("toolCallId")): str(part.get("toolName") or part["type"][5:]) for part in tools}


def _parts(message: StoredMessage) -> list[dict[str, Any]]:
    found = map(parsed, message.parts)
    return [part for part in found if isinstance(part, dict)]


def _is_said(part: dict[str, Any]) -> bool:
    return part.get("type") == "text" and isinstance(part.get("text"), str) and bool(part["text"].strip())


def _one_line(text: str) -> str:
    return " ".join(text[:_ENOUGH].split())
