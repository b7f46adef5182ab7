"""What a caller gives for the answer to a tool call, checked: as the fold takes it, and as its event keeps it."""

from __future__ import annotations

from typing import Any

from ...aisdk.folding import MISSING
from ...base import arguments, exact_json
from ...errors import BadValue


def checked_answer(
    call: Any, output: Any, error: Any, approved: Any, reason: Any, provider_metadata: Any = None
) -> dict[str, Any]:
    """What a caller gives for the answer to a tool call: as the fold takes it, and as its event keeps it."""
    answer: dict[str, Any] = {"tool_call_id": arguments.text("tool_call_id", call)}
    arguments.text_or_none("error", error)
    arguments.text_or_none("reason", reason)
    if approved is not None and type(approved) is not bool:
        raise BadValue(f"approved is True or False, not {arguments.shown(approved)}")
    if output is not MISSING:
        answer["output"] = exact_json.Raw(exact_json.encode(output).encode())
    given = {"error": error, "approved": approved, "reason": reason}
    answer |= {key: value for key, value in given.items() if value is not None}
    if provider_metadata is not None:
        answer["provider_metadata"] = exact_json.Raw(exact_json.encode(provider_metadata).encode())
    exact_json.parse(exact_json.encode(answer))
    return answer
