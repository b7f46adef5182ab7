"""Where the columns of Hermes' `sessions` are kept that a session of ours has no place for: in its metadata, under
`hermes` by their names, and under `billing` how it is paid for. And how times and models are written here and there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ORIGIN = AGENT = "hermes"
UNKNOWN = "unknown"  # the source of a session that says none
OURS, BILLED = "hermes", "billing"
BILLING = {
    "billing_provider": "provider",
    "billing_base_url": "base_url",
    "billing_mode": "mode",
    "cost_status": "cost_status",
    "cost_source": "cost_source",
    "pricing_version": "pricing_version",
}
PROMPT, DIGEST, COMPACTED, IMPORTED = "system_prompt", "system_prompt_digest", "compacted", "imported"
MODEL_USAGE = "model_usage"  # the rows of a later version that say what each model used, as they came
_NOTHING: Mapping[str, Any] = {}


def kept(about: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """What is under a key of the metadata of a session."""
    value = about.get(key) if about else None
    return value if isinstance(value, dict) else _NOTHING


def text(about: Mapping[str, Any], key: str) -> str | None:
    value = about.get(key)
    return value if isinstance(value, str) else None


def joined(provider: Any, model: Any) -> str | None:
    """A model as Hermes writes it."""
    if not isinstance(model, str) or not model:
        return None
    return f"{provider}/{model}" if isinstance(provider, str) and provider else model


def plain_model(given: str) -> str | None:
    """What comes back of a model's name once it was taken apart."""
    provider, slash, name = given.partition("/")
    return joined(provider, name) if slash else joined("", given)


def milliseconds(seconds: Any) -> int | None:
    """A time as a store has it; None: it is none."""
    if type(seconds) not in (float, int) or not 0 <= seconds < 16_725_225_600:
        return None
    return int(seconds * 1000)


def seconds(stamp: int, exact: Any) -> float:
    """A time in seconds; as it was given, where that is known and still holds."""
    return float(exact) if exact is not None and milliseconds(exact) == stamp else stamp / 1000
