"""Several ids for one statement: `x = one_of(:ids)`."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


def several(ids: Iterable[str]) -> str:
    return msgspec.json.encode(list(ids)).decode()
