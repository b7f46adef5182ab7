"""The tests find what they are there to find: each planted break makes a test fail that passes without it."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from . import breaks, planting

HERE = Path(__file__).parent
for _file in sorted(HERE.glob("test_*.py")):
    if _file.stem != "test_planted":
        importlib.import_module(f"tests.saving.{_file.stem}")


def test_every_break_is_used_and_every_one_that_is_named_exists() -> None:
    assert {name for _, _, name in planting.PAIRS} == set(planting.BREAKS)
    assert all(getattr(breaks, name) is work for name, work in planting.BREAKS.items())


@pytest.mark.planted("held_chunks_are_not_compared")
@pytest.mark.parametrize(("file", "test", "name"), sorted(set(planting.PAIRS)))
def test_a_planted_break_is_found(file: str, test: str, name: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"{HERE / file}::{test}"],
        env={**os.environ, planting.VARIABLE: name},
        cwd=HERE.parent.parent,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 1, f"{test} did not notice {name}:\n{run.stdout[-2000:]}"
