"""Compactions as a reader meets them: turns whose one message carries the ledger's fields in a part."""

from __future__ import annotations

from typing import Any

from ...aisdk.parts import COMPACTION
from .. import damage

KIND = "compaction"


def details(parts: list[str]) -> dict[str, Any] | None:
    """The fields of a compaction, from the parts of its message."""
    for text in parts:
        part = damage.parsed(text)
        if isinstance(part, dict) and part.get("type") == COMPACTION and isinstance(part.get("data"), dict):
            return part["data"]  # type: ignore[no-any-return]
    return None
