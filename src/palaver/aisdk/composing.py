"""What an agent says, as chunks: for who writes text, tool calls and files without knowing the AI SDK's stream.

Each function answers the chunks that say one thing, given the message so far. Nothing is remembered between them: the
fold knows which parts are open and which step runs, also after a resume or chunks that were written by hand.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from ..base import arguments
from ..errors import BadValue
from .folding import Fold
from .parts import FINAL, is_tool

Chunk = dict[str, Any]


def say(fold: Fold, kind: str, delta: str) -> list[Chunk]:
    """More text or reasoning: in the part that is open, if the newest is one of that kind; else in a new one."""
    for opened, name in fold.open_texts():
        if opened == kind and fold.is_last(opened, name):
            return [{"type": f"{kind}-delta", "id": name, "delta": delta}]
    before = _before_more(fold)
    name = f"{kind}-{len(fold.parts) + len(before)}"  # no other part of the message began there
    return [*before, {"type": f"{kind}-start", "id": name}, {"type": f"{kind}-delta", "id": name, "delta": delta}]


def call(fold: Fold, call_id: str, name: str, given: Any) -> list[Chunk]:
    if fold.has_call(call_id):
        raise BadValue(f"this turn has a tool call {call_id} already; another call has another id")
    chunk = {"type": "tool-input-available", "toolCallId": call_id, "toolName": name, "input": given}
    return [*_before_more(fold), chunk]


def file(fold: Fold, url: str, media_type: str) -> list[Chunk]:
    return [*_before_more(fold), {"type": "file", "url": url, "mediaType": media_type}]


def step(fold: Fold) -> list[Chunk]:
    """The model is called (again): what follows is another step. A step that has nothing in it yet is that step."""
    if not fold.in_step:
        return [*_close(fold), *_begin(fold)]
    if not fold.parts or fold.parts[-1]["type"] == "step-start":
        return []
    return [*_close(fold), {"type": "finish-step"}, {"type": "start-step"}]


def finish(fold: Fold) -> list[Chunk]:
    """The end of what is said: no part and no step stays open."""
    if fold.finished:  # by hand: only what came after it is ended
        return _close(fold)
    reason = "tool-calls" if fold.unresolved() else "stop"
    last = [{"type": "finish-step"}] if fold.in_step else []
    return [*_close(fold), *last, {"type": "finish", "finishReason": reason}]


def stop(fold: Fold) -> list[Chunk]:
    """The same without a word on how it ended."""
    return [*_close(fold), *([{"type": "finish-step"}] if fold.in_step else [])]


def located(source: str | bytes, media_type: str | None) -> tuple[str, str]:
    """A file's URL, which holds its bytes where those are given, and its media type."""
    if not isinstance(source, str | bytes):
        raise BadValue(f"a file is its bytes or its URL, not {arguments.shown(source)}")
    media_type = media_type or _media_type(source)
    return source if isinstance(source, str) else data_url(source, media_type), media_type


def data_url(data: bytes, media_type: str) -> str:
    return f"data:{media_type};base64,{b64encode(data).decode()}"


def _media_type(source: str | bytes) -> str:
    """What a URL says of itself."""
    from mimetypes import guess_type

    found, _ = guess_type(source) if isinstance(source, str) else (None, None)
    if found is None:
        raise BadValue("say what kind of file it is, such as media_type='image/png'")
    return found


def _before_more(fold: Fold) -> list[Chunk]:
    """What the model says after a tool's result comes of another call of it: another step. Texts that are open end."""
    ends = _close(fold)
    if not fold.in_step:
        return [*ends, *_begin(fold)]
    return [*ends, {"type": "finish-step"}, {"type": "start-step"}] if _has_result(fold) else ends


def _begin(fold: Fold) -> list[Chunk]:
    return [{"type": "start-step"}] if fold.has_begun else [{"type": "start"}, {"type": "start-step"}]


def _close(fold: Fold) -> list[Chunk]:
    return [{"type": f"{kind}-end", "id": name} for kind, name in fold.open_texts()]


def _has_result(fold: Fold) -> bool:
    """Whether a tool was answered in the step that runs."""
    for part in reversed(fold.parts):
        if part["type"] == "step-start":
            return False
        if is_tool(part["type"]) and part.get("state") in FINAL and not part.get("providerExecuted"):
            return True
    return False
