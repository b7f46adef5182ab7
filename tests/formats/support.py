"""Short ways to write messages down, and the round trip that most claims are about."""

from __future__ import annotations

from typing import Any

from palaver import formats

PNG = "data:image/png;base64,iVBORw0KGgo="
PDF = "data:application/pdf;base64,JVBERi0xLjc="


def said(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def file(media_type: str, url: str, **more: Any) -> dict[str, Any]:
    return {"type": "file", "mediaType": media_type, "url": url, **more}


def tool(name: str, call_id: str, given: Any, **more: Any) -> dict[str, Any]:
    part = {"type": f"tool-{name}", "toolCallId": call_id, "state": "input-available", "input": given}
    state = {"state": "output-available"} if "output" in more else {}
    return part | ({"state": "output-error"} if "errorText" in more else state) | more


STEP = {"type": "step-start"}


def messages(value: Any, format: str) -> list[dict[str, Any]]:
    return formats.read(value, format).messages()


def again(value: Any, format: str) -> Any:
    """What is written of what was read."""
    return formats.write(messages(value, format), format)
