"""Every checker is shown to fail: each planted break makes the promise it breaks fail its test."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from . import sabotage

HERE = Path(__file__).parent
for _file in sorted(HERE.glob("test_promises_*.py")):
    importlib.import_module(f"tests.promises.{_file.stem}")
sabotage.load_breaks()


def test_every_break_that_a_promise_names_exists_and_is_used() -> None:
    named = {name for _, _, name in sabotage.PAIRS}
    assert named == set(sabotage.BREAKS)


@pytest.mark.planted("data_compaction_may_be_committed")
@pytest.mark.parametrize(("file", "test", "name"), sorted(set(sabotage.PAIRS)))
def test_a_planted_break_is_found(file: str, test: str, name: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"{HERE / file}::{test}"],
        env={**os.environ, sabotage.VARIABLE: name},
        cwd=HERE.parent.parent,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 1, f"{test} did not notice {name}:\n{run.stdout[-2000:]}"
