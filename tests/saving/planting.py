"""Planted breaks: a test that says `@broken_by("name")` must fail when the product is broken in that way.

The environment variable names the break to plant; `test_planted.py` runs each pair in a process of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

VARIABLE = "PALAVER_SAVING_BREAK"
BREAKS: dict[str, Callable[[], None]] = {}
PAIRS: list[tuple[str, str, str]] = []  # (file, test, break)

F = TypeVar("F", bound=Callable[..., object])


def planted(work: Callable[[], None]) -> Callable[[], None]:
    BREAKS[work.__name__] = work
    return work


def broken_by(*names: str) -> Callable[[F], F]:
    def mark(test: F) -> F:
        file = Path(test.__code__.co_filename).name  # type: ignore[attr-defined]
        PAIRS.extend((file, test.__name__, name) for name in names)
        return test

    return mark


def plant_from_environment() -> None:
    name = os.environ.get(VARIABLE)
    if name:
        from . import breaks  # noqa: F401

        BREAKS[name]()
