"""A response as the events of its turn tell it: its chunks and results, applied to a fold again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...aisdk import chunks
from ...aisdk.folding import Fold
from ...base import exact_json
from ..facts import TurnFacts


def new_fold(facts: TurnFacts) -> Fold:
    """The fold of a response that starts with the metadata its turn was begun with."""
    start = facts.get("metadata")
    message: dict[str, Any] = {"id": "", "role": "assistant", "parts": []}
    if start:
        message["metadata"] = dict(start)
    return Fold(message, resets=False)


def replay(fold: Fold, events: Iterable[tuple[Any, ...]]) -> int:
    """Apply a turn's events to its fold; how many chunks there were."""
    count = 0
    for _, kind, data, _ in events:
        if kind == "chunk":
            fold.apply(chunks.parse(data).chunk)
            count += 1
        elif kind == "resolve":
            fold.resolve(**resolution(exact_json.open_object(data)))
    return count


def resolution(data: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `Fold.resolve` from a stored `resolve` event; the output keeps its bytes."""
    return {k: v if k in ("output", "provider_metadata") else exact_json.parse(v) for k, v in data.items()}
