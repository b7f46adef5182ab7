"""Compactions as a reader meets them: turns whose one message carries the ledger's fields in a part."""

from __future__ import annotations

from typing import Any

from ...aisdk.parts import COMPACTION
from ...base import exact_json
from .. import damage

KIND = "compaction"


def details(parts: list[str]) -> dict[str, Any] | None:
    """The fields of a compaction, from the parts of its message."""
    for text in parts:
        part = damage.parsed(text)
        if isinstance(part, dict) and part.get("type") == COMPACTION and isinstance(part.get("data"), dict):
            return part["data"]  # type: ignore[no-any-return]
    return None


TEXTS = ("summarized_through_turn_id", "first_kept_turn_id", "model", "provider", "trigger")
COUNTS = (
    *("turns_summarized", "tokens_before", "tokens_after", "summary_tokens", "summarization_input_tokens"),
    *("summarization_output_tokens", "duration_ms"),
)


COLUMN = {"metadata": "metadata_json"}  # where its name is another


def columns(data: Any) -> dict[str, Any]:
    """The fields as the table `compactions` has them; the part is the truth. No column of a server holds a NUL."""
    texts = {name: data.get(name) if isinstance(data.get(name), str) else None for name in TEXTS}
    counts = {name: data.get(name) if type(data.get(name)) is int else None for name in COUNTS}
    about = data.get("metadata")
    about = exact_json.parse(about) if isinstance(about, exact_json.Raw) else about
    return {
        "summary": data["summary"].replace("\0", "␀") if isinstance(data.get("summary"), str) else "",
        "compaction_type": data["compaction_type"] if isinstance(data.get("compaction_type"), str) else "summary",
        "metadata": None if about is None else exact_json.encode(about),
        **texts,
        **counts,
    }
