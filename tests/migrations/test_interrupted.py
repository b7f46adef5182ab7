"""A migration that is cut off anywhere is finished by the next opening: nothing is half done, nothing is done twice.

Killed at any statement: promises/test_promises_log.py, where it is shown to notice.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .support import finished, run


def test_promise_140_killed_at_any_write_the_next_opening_finishes_it(fast: Path) -> None:
    finished(fast, "version 1", run(fast, start="version 1", trouble="write"), at_least=20)


@pytest.mark.long
def test_promise_140_whichever_write_fails_the_next_opening_finishes_it(fast: Path) -> None:
    finished(fast, "version 4", run(fast, start="version 4", trouble="error"), at_least=20)


@pytest.mark.long
@pytest.mark.parametrize(
    ("start", "trouble"),
    [("version 1", "error"), ("version 4", "statement"), ("version 4", "write"), ("version 5", "statement")],
)
def test_promise_140_an_old_file_whose_opening_meets_any_trouble_is_finished(
    start: str, trouble: str, fast: Path
) -> None:
    finished(fast, start, run(fast, start=start, trouble=trouble), at_least=20)


@pytest.mark.long
@pytest.mark.parametrize("trouble", ["statement", "write", "error"])
def test_promise_140_a_new_file_whose_first_opening_meets_any_trouble_is_finished(trouble: str, fast: Path) -> None:
    finished(fast, "nothing", run(fast, start="nothing", trouble=trouble), at_least=20)


# ---------------------------------------------------------------- sixteen at once


def test_promise_140_sixteen_processes_that_open_an_old_file_at_once_migrate_it_once(fast: Path) -> None:
    finished(fast, "version 1", run(fast, start="version 1", rounds=4), at_least=4)


def test_promise_140_sixteen_processes_take_the_last_step_once(fast: Path) -> None:
    finished(fast, "version 5", run(fast, start="version 5", rounds=2), at_least=2)


@pytest.mark.long
@pytest.mark.parametrize("start", ["version 1", "version 4", "version 5", "nothing"])
def test_promise_140_sixteen_processes_at_once_a_hundred_times(start: str, fast: Path) -> None:
    finished(fast, start, run(fast, start=start, rounds=100), at_least=100)
