"""`convert` makes the same model messages of any UIMessages as the AI SDK's own `convertToModelMessages`."""

from __future__ import annotations

import os
from typing import Any

import pytest

from palaver.modelmessages import convert

from .messages import FIELDS, PLAIN_CASES, Random, tool_cases
from .sdk import UI, Judge

STATES = (
    "input-streaming",
    "input-available",
    "approval-requested",
    "approval-responded",
    "output-available",
    "output-error",
    "output-denied",
)


def differences(sdk: Judge, cases: dict[str, UI]) -> dict[str, Any]:
    """Case by case: (ours, theirs) where they are not the same."""
    theirs = sdk.converted(list(cases.values()))
    found = {}
    for (name, given), wanted in zip(cases.items(), theirs, strict=True):
        ours = convert(given)
        if ours != wanted:
            found[name] = {"ours": ours, "theirs": wanted}
    return found


@pytest.mark.parametrize("name", PLAIN_CASES)
def test_convert_is_the_sdks_own_for(name: str, sdk: Judge) -> None:
    assert differences(sdk, {name: PLAIN_CASES[name]}) == {}


def test_the_cases_cover_every_state_of_a_tool() -> None:
    assert {state for state, _ in FIELDS.values()} == set(STATES)


@pytest.mark.parametrize("name", FIELDS)
def test_convert_is_the_sdks_own_when(name: str, sdk: Judge) -> None:
    """Static and dynamic, run here or by the provider, with metadata and without."""
    cases = {
        case: given for case, given in tool_cases().items() if case.split(": ")[1].split(", by")[0].startswith(name)
    }
    assert len(cases) >= 16
    assert differences(sdk, cases) == {}


def random_talks(count: int) -> dict[str, UI]:
    seed = int(os.environ.get("PALAVER_SEED", "20261116"))
    print(f"seed {seed}")
    made = Random(seed)
    return {f"seed {seed}, talk {number}": made.talk() for number in range(count)}


def test_convert_is_the_sdks_own_for_hundreds_of_random_talks(sdk: Judge) -> None:
    assert differences(sdk, random_talks(300)) == {}


@pytest.mark.long
def test_convert_is_the_sdks_own_for_thousands_of_random_talks(sdk: Judge) -> None:
    assert differences(sdk, random_talks(10_000)) == {}


def test_convert_leaves_what_it_is_given_as_it_was(sdk: Judge) -> None:
    talk = Random(7).talk() + PLAIN_CASES["a conversation"]
    before = repr(talk)
    convert(talk)
    assert repr(talk) == before
