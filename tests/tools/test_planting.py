"""Every checker is shown to fail: each planted bug makes a test fail that passes without it."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from . import planting

TESTS = Path(__file__).parents[1]
NAMED = "faults", "recovery"  # their own tests plant what is in these files
for _file in [*TESTS.glob("promises/test_promises_*.py"), *TESTS.glob("saving/test_*.py")]:
    importlib.import_module(f"tests.{_file.parent.name}.{_file.stem}")
planting.load()
LONG_TOO = ("-m", "long or not long")  # what looks for a bug may be a long test


def test_every_break_that_a_test_names_exists_and_is_used() -> None:
    used = {name for _, _, name in planting.PAIRS}
    by_other_means = {name for name, work in planting.BREAKS.items() if work.__module__.rpartition(".")[2] in NAMED}
    assert used | by_other_means == set(planting.BREAKS)


@pytest.mark.planted("data_compaction_may_be_committed", "held_chunks_are_not_compared")
@pytest.mark.parametrize(("file", "test", "name"), sorted(set(planting.PAIRS)))
def test_a_planted_break_is_found(file: str, test: str, name: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *LONG_TOO, f"{TESTS / file}::{test}"],
        env={**os.environ, planting.VARIABLE: name},
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 1, f"{test} did not notice {name}:\n{run.stdout[-2000:]}"
