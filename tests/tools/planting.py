"""Planted bugs: a checker is worth something only if it fails on a bug that is there.

A bug is a function of `tests/tools/breaks`, marked `@planted`. It patches the product for good, so it is planted in a
process of its own, by its name: the environment variable PALAVER_PLANTED names it to that process and its children.
A test that says `@broken_by("name")` must fail with that bug; `test_planting.py` runs each such pair. A bug that can be
undone takes pytest's MonkeyPatch instead, and stands beside its test.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

VARIABLE = "PALAVER_PLANTED"
BREAKS: dict[str, Callable[[], None]] = {}
PAIRS: list[tuple[str, str, str]] = []  # (file, test, bug)
HERE = Path(__file__).parent

F = TypeVar("F", bound=Callable[..., object])


def planted(work: Callable[[], None]) -> Callable[[], None]:
    """Mark a bug. Each has a name of its own."""
    assert work.__name__ not in BREAKS, work.__name__
    BREAKS[work.__name__] = work
    return work


def broken_by(*names: str) -> Callable[[F], F]:
    """Mark a test: each of these bugs must make it fail."""

    def mark(test: F) -> F:
        file = Path(test.__code__.co_filename).relative_to(HERE.parent)  # type: ignore[attr-defined]
        PAIRS.extend((str(file), test.__name__, name) for name in names)
        return test

    return mark


def load() -> None:
    """Every bug that there is."""
    for file in sorted((HERE / "breaks").glob("*.py")):
        importlib.import_module(f"tests.tools.breaks.{file.stem}")


def plant(name: str | None) -> None:
    if name:
        load()
        BREAKS[name]()


def plant_from_environment() -> None:
    plant(os.environ.get(VARIABLE))
