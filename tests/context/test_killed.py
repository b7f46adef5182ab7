"""Killed at any moment of a compaction in mid-turn: all of it is there, or nothing."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from ..tools.puppet import Crew
from .support import said

NOTHING = {
    "path": ["turn completed", "turn aborted"],
    "messages": [*said(1), "user: long", "assistant: tool-run tool-run half"],
    "context": [*said(1), "user: long", "assistant: tool-run tool-run half"],
    "tokens": 0,
}
ALL = {
    "path": ["turn completed", "turn completed", "compaction completed", "turn aborted"],
    "messages": [
        *said(1),
        "user: long",
        "assistant: tool-run",
        "assistant: data-compaction",
        "assistant: tool-run half",
    ],
    "context": ["system: so far", "user: long", "assistant: tool-run", "assistant: tool-run half"],
    "tokens": 5,
}


def killed(folder: Path, before: str, every: int) -> list[dict[str, Any]]:
    first = random.SystemRandom().randint(1, every)
    print(f"every {every}. {before} from {first} on")
    asked = {"folder": str(folder), "before": before, "first": first, "every": every}
    found: list[dict[str, Any]] = Crew("tests.context.killed").alone("killed", **asked)
    return found


def all_or_nothing(found: list[dict[str, Any]]) -> None:
    whole = []
    for number, each in enumerate(found, 1):
        assert each.pop("problems") == [], number
        assert each in (NOTHING, ALL), number
        whole.append(each == ALL)
    assert whole == sorted(whole) and not whole[0] and whole[-1]


@pytest.mark.parametrize(("before", "every"), [("statement", 9), ("write", 4)])
def test_killed_while_a_turn_is_compacted_all_of_it_is_there_or_nothing(
    tmp_path: Path, before: str, every: int
) -> None:
    all_or_nothing(killed(tmp_path, before, every))


@pytest.mark.long
@pytest.mark.parametrize("before", ["statement", "write"])
def test_killed_before_every_point_all_of_it_is_there_or_nothing(tmp_path: Path, before: str) -> None:
    found = killed(tmp_path, before, 1)
    assert len(found) > 20
    all_or_nothing(found)
