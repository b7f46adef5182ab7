"""Ours and the SDK's answers in one form, so that they can be compared as JSON values."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from palaver.aisdk.folding import Fold, fold, plain_message
from palaver.base import exact_json
from palaver.errors import ChunkError


def as_javascript(value: Any) -> Any:
    """Numbers as doubles, text as UTF-16: what is left after a trip through JavaScript."""
    if isinstance(value, str):
        return exact_json.join_surrogates(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return _double(value)
    if isinstance(value, dict):
        return {as_javascript(key): as_javascript(inner) for key, inner in value.items()}
    return [as_javascript(inner) for inner in value]


def _double(value: float) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    return number + 0.0 if math.isfinite(number) else None


def same(ours: Any, theirs: Any) -> bool:
    """Equal as JSON (Python's == takes True for 1)."""
    return _text(ours) == _text(theirs)


def _text(value: Any) -> str:
    return json.dumps(as_javascript(value), sort_keys=True)


def our_answer(chunks: Iterable[Any], message: Any = None) -> dict[str, Any]:
    """What the oracle's `reduce` mode answers, from our fold."""
    try:
        return {"message": fold(chunks, message)}
    except ChunkError as error:
        return _said(error)


def our_server_answer(chunks: Iterable[Any], message: Any = None) -> dict[str, Any]:
    """The message as a server would store it: no resets."""
    state = Fold(message, resets=False)
    try:
        for chunk in chunks:
            state.apply(chunk)
    except ChunkError as error:
        return _said(error)
    return {"message": plain_message(state.message())}


def _said(error: ChunkError) -> dict[str, Any]:
    return {
        "error": error.reason,
        "chunkIndex": error.chunk_index,
        "message": error.message,
        "chunkType": error.chunk_type,
        "chunkId": error.chunk_id,
    }


def agree(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """The same message; for a refusal also the same text and place, and the SDK's own names if it has any."""
    if ("error" in ours) != ("error" in theirs):
        return False
    named = [field for field in ("chunkIndex", "chunkType", "chunkId") if field in theirs]
    return _same_error(ours, theirs) and all(same(ours.get(field), theirs.get(field)) for field in ("message", *named))


def _same_error(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    if theirs.get("errorName") != "TypeError":
        return same(ours.get("error"), theirs.get("error"))
    # JavaScript's own sentence quotes a number as a double and a key by JavaScript's key order.
    return str(ours["error"]).split(" for ")[0] == str(theirs["error"]).split(" for ")[0]
