"""Several ids for one statement: both engines read the keys of a JSON object as rows (`json_each(json(:ids))`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec


def as_keys(ids: Iterable[str]) -> str:
    keys: dict[str, Any] = dict.fromkeys(ids, 0)
    return msgspec.json.encode(keys).decode()
