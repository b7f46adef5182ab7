"""Conversations of every documented shape: those by which the formats are judged, and the same as UIMessages."""

from __future__ import annotations

import json
from typing import Any

from palaver import GraftSession, Store, formats, importers

from ..formats import test_anthropic, test_openai_chat, test_openai_responses

EXACT: dict[str, dict[str, Any]] = {
    "openai": dict(test_openai_chat.EXACT),
    "openai-responses": dict(test_openai_responses.EXACT),
    "anthropic": dict(test_anthropic.EXACT),
}
OPEN = {  # a tool over there still runs: a model is told that it was interrupted
    ("anthropic", "a tool over there that still runs"),
    ("aisdk", "anthropic: a tool over there that still runs"),
    ("aisdk", "openai-responses: tools that OpenAI runs"),
}


def as_ui(value: Any, format: str) -> list[dict[str, Any]]:
    found = formats.read(value, format).messages()
    return [{"id": f"m{number}", **message} for number, message in enumerate(found)]


EXACT["aisdk"] = {
    f"{format}: {name}": as_ui(value, format) for format, named in EXACT.items() for name, value in named.items()
}
ALL = [(format, name) for format, named in EXACT.items() for name in named if (format, name) not in OPEN]


def session_of(source: Any, format: str, **more: Any) -> GraftSession:
    return importers.BY_NAME[format.removesuffix("-responses")](source, **{"id": "chat-42", **more})


def as_file(value: Any, **more: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, **more).encode()


def prefixes(value: Any) -> list[Any]:
    """The conversation after each of its messages."""
    if isinstance(value, list):
        return [value[: end + 1] for end in range(len(value))]
    return [{**value, "messages": messages} for messages in prefixes(value["messages"])]


def given_back(store: Store, format: Any) -> Any:
    return store.sessions.get("chat-42").messages(format=format)
