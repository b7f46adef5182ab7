"""Chunks as a model streams them, and messages as a client sends them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Chunk = dict[str, Any]
Message = dict[str, Any]

START: Chunk = {"type": "start"}
STEP: Chunk = {"type": "start-step"}
STEP_ENDS: Chunk = {"type": "finish-step"}
ENDS: Chunk = {"type": "finish"}


def delta(words: str, name: str = "t") -> Chunk:
    return {"type": "text-delta", "id": name, "delta": words}


def text(words: str | Sequence[str], name: str = "t", *, ends: bool = True, pieces: int = 1) -> list[Chunk]:
    """One text, in pieces of about the same size or in those that are given; left open, if it does not end."""
    if isinstance(words, str):
        size = max(1, len(words) // pieces)
        words = [words[at : at + size] for at in range(0, len(words), size)] if pieces > 1 else [words]
    end = [{"type": "text-end", "id": name}] if ends else []
    return [{"type": "text-start", "id": name}, *(delta(piece, name) for piece in words), *end]


def thought(words: str, name: str = "r") -> list[Chunk]:
    whole = {"type": "reasoning-delta", "id": name, "delta": words}
    return [{"type": "reasoning-start", "id": name}, whole, {"type": "reasoning-end", "id": name}]


def call(name: str = "c", tool: str = "run", given: Any = None, **more: Any) -> Chunk:
    given = {} if given is None else given
    return {"type": "tool-input-available", "toolCallId": name, "toolName": tool, "input": given, **more}


def result(name: str = "c", output: Any = "done", **more: Any) -> Chunk:
    return {"type": "tool-output-available", "toolCallId": name, "output": output, **more}


def step(*chunks: Chunk) -> list[Chunk]:
    return [STEP, *chunks, STEP_ENDS]


def metadata(**given: Any) -> Chunk:
    return {"type": "message-metadata", "messageMetadata": given}


def tool(name: str, size: int, *, answered: bool = True) -> list[Chunk]:
    """A call whose input comes in pieces; `size` characters in it, and in its result."""
    pieces = ('{"command":"', "l" * size, '"')
    return [
        {"type": "tool-input-start", "toolCallId": name, "toolName": "run"},
        *({"type": "tool-input-delta", "toolCallId": name, "inputTextDelta": piece} for piece in pieces),
        call(name, given={"command": "l" * size}),
        *([result(name, {"out": "o" * size})] if answered else []),
    ]


def answer(size: int = 20) -> list[Chunk]:
    """One of every kind of part; `size` characters in each."""
    return [
        START | {"messageMetadata": {"began": "s" * size}},
        STEP,
        *thought("r" * size),
        *text("w" * size, pieces=3),
        *tool("c1", size),
        {"type": "data-note", "id": "n", "data": {"first": "f" * size}},
        {"type": "data-note", "id": "n", "data": {"then": "t" * size}},
        {"type": "source-url", "sourceId": "u", "url": "http://x/" + "u" * size},
        {"type": "file", "url": "http://x/f", "mediaType": "text/plain"},
        STEP_ENDS,
        metadata(then="m" * size),
    ]


# ---------------------------------------------------------------- messages


def message(role: str, words: str, **more: Any) -> Message:
    return {"role": role, "parts": [{"type": "text", "text": words}], **more}


def user(words: str, **more: Any) -> Message:
    return message("user", words, **more)


def assistant(words: str, **more: Any) -> Message:
    return message("assistant", words, **more)
