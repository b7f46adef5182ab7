"""Planted breaks. A promise test that says `@broken_by("name")` must fail when that break is in place.

A break is a function in `tests/promises/breaks_*.py`, marked `@planted`, that patches the product in this process. The
environment variable PALAVER_SABOTAGE names the one to plant; child processes of a test plant it too, by calling
`plant_from_environment()` first. `test_sabotage.py` runs each pair in a process of its own.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

VARIABLE = "PALAVER_SABOTAGE"
BREAKS: dict[str, Callable[[], None]] = {}
PAIRS: list[tuple[str, str, str]] = []  # (file, test, break)

F = TypeVar("F", bound=Callable[..., object])


def planted(work: Callable[[], None]) -> Callable[[], None]:
    BREAKS[work.__name__] = work
    return work


def broken_by(*names: str) -> Callable[[F], F]:
    """Mark a test: each of these breaks must make it fail."""

    def mark(test: F) -> F:
        file = Path(test.__code__.co_filename).name  # type: ignore[attr-defined]
        PAIRS.extend((file, test.__name__, name) for name in names)
        return test

    return mark


def load_breaks() -> None:
    for file in sorted(Path(__file__).parent.glob("breaks_*.py")):
        importlib.import_module(f"tests.promises.{file.stem}")


def plant_from_environment() -> None:
    name = os.environ.get(VARIABLE)
    if name:
        load_breaks()
        BREAKS[name]()
