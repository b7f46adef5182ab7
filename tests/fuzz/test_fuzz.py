"""No value that a caller can give makes a store unopenable, and no error is anybody's but ours.

1,000 random calls of every public verb with hostile values, and at length 20,000 more: see `run.py` for what is looked
at after each.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from . import calls, plausible, run, values

SEEDS, CALLS = [174, *(pytest.param(seed, marks=pytest.mark.long) for seed in (175, 176, 177))], 500
PAGE = (Path(__file__).parent.parent.parent / "docs" / "library.md").read_text()
# Told of in the page, and no verb: what a method gives, an agent's own functions, and msgspec's class.
NOT_A_VERB = {
    *("Answer", "CopyProblem", "CopyReport", "Event", "Line", "Migrated", "Page", "Problem", "Queued", "Raw"),
    *("SpaceInfo", "Summary", "ToolCall", "TurnError", "UsageEntry"),
    *("GraftProblem", "GraftedSession", "Native", "rest"),
    *("aisdk", "anthropic", "openai", "conversations_in"),  # importers: tests/importers
    *("json", "ui"),  # of a stored message: they take nothing
}
NEEDS_A_SERVER = {"drop", "migrate"}  # of `spaces`: what they take is tried in tests/postgres


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hostile path is one below this folder."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("seed", SEEDS)
def test_promise_174_no_value_that_a_caller_gives_makes_a_store_unopenable(seed: int) -> None:
    print(f"seed {seed}")
    assert run.run(seed, CALLS) >= CALLS


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_promise_174_at_length(part: int) -> None:
    seed = random.SystemRandom().randrange(10**9)
    print(f"seed {seed}")  # shown if it fails, with the world: python -m tests.fuzz.run SEED/WORLD
    assert run.run(seed, 2_000) >= 2_000


# ---------------------------------------------------------------- nothing is left out


def told(page: str) -> set[str]:
    """Every name that the page calls, in its tables."""
    cells = [line.split("|")[1:3] for line in page.splitlines() if line.startswith("|")]
    found = {
        name for cell in cells for text in cell for code in re.findall(r"`([^`]+)`", text) for name in _names(code)
    }
    return found - NOT_A_VERB - NEEDS_A_SERVER


def _names(code: str) -> list[str]:
    return re.findall(r"^(?:await )?(?:\w+\.)?(\w+)\(", code)


def test_every_verb_of_the_library_page_is_called() -> None:
    called = {verb.name for verb in calls.catalogue()}
    assert told(PAGE) - called == set()
    assert len(told(PAGE)) > 70


def test_a_verb_that_is_told_and_not_called_is_noticed() -> None:
    assert told(PAGE + "\n| `vanish(now)` | takes it all away |\n") - {verb.name for verb in calls.catalogue()} == {
        "vanish"
    }


def test_a_verb_that_is_added_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    def vanish(self: object, when: int, *, quietly: bool = False) -> None: ...

    monkeypatch.setattr(calls.NOUNS["Session"], "vanish", vanish, raising=False)
    (found,) = [verb for verb in calls.catalogue() if verb.name == "vanish"]
    assert (found.required, found.optional) == (("when",), ("quietly",))


def test_every_argument_has_a_sensible_value_to_begin_with() -> None:
    """So that a hostile one beside it gets somewhere."""
    named = {(verb.full, name) for verb in calls.catalogue() for name in verb.required + verb.optional}
    known = plausible.ARGUMENTS
    assert {f"{verb}:{name}" for verb, name in named if name not in known and f"{verb}:{name}" not in known} == set()


def test_every_hostile_value_can_be_made_again_and_again() -> None:
    assert len(values.every()) == len(values.every()) > 200
