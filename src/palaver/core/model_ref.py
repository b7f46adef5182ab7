"""Which model: `{provider_id, model_id, variant?}`, or "provider/model" for short."""

from __future__ import annotations

from typing import Any

from ..base import exact_json
from ..errors import BadValue

UNKNOWN = '{"provider_id":"","model_id":""}'


def stored(model: Any) -> str:
    """As the session's column holds it."""
    return UNKNOWN if model is None else exact_json.encode(checked(model))


def checked(model: Any) -> Any:
    if isinstance(model, str):
        provider, slash, name = model.partition("/")
        model = {"provider_id": provider, "model_id": name} if slash else {"provider_id": "", "model_id": model}
    if not isinstance(model, dict) or not all(isinstance(model.get(k), str) for k in ("provider_id", "model_id")):
        raise BadValue('a model is {"provider_id": …, "model_id": …, "variant"?: …} or "provider/model"')
    return model
