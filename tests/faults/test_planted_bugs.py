"""A test is worth something only if it fails on a bug: each one planted here must be found, and by its name.

Either a run over a failing disk says what is wrong, or one of the tests of this folder, called with processes that have
the bug, does not come through.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver.base import ids
from palaver.db import queries

from ..tools import waiting
from ..tools.planting import plant
from ..tools.puppet import Refusal
from . import running, test_bad_days, test_full_disk, test_wal_size, turning
from .choice import EIO, FULL
from .conftest import Other
from .disk import Fault
from .test_clock import JUMPS, live_through
from .turning import Clock

Start = Callable[..., Other]
WRITES = [Fault("write", at, FULL) for at in range(80, 280, 20)]
SYNCS = [Fault("sync", at, EIO) for at in range(3, 15)]
BROKEN_RUNS: dict[str, tuple[str, list[Fault], str]] = {
    "errors_swallowed": ("stream", WRITES, "lost: turn"),
    "done_all_the_same": ("stream", WRITES, "the client saw"),
    "errors_untranslated": ("stream", WRITES, "the client met FullError"),
    "refused_for_ever": ("stream", WRITES, "the client met StoreError: something went wrong once"),
    "descriptors_kept": ("stream", WRITES, "still open"),
    "threads_that_raise": ("stream", WRITES, "a thread met OSError: housekeeping"),
    "shared_commit_taken_for_granted": ("crowd", SYNCS, "lost: commit of"),
}


def said_of(folder: Path, workload: str, faults: list[Fault], bug: str | None) -> str:
    outcomes = running.run(folder, workload, faults, bug)
    return "\n".join(problem for outcome in outcomes for problem in outcome["problems"])


@pytest.mark.planted("refused_for_ever")
@pytest.mark.parametrize("bug", BROKEN_RUNS)
def test_a_bug_in_how_the_store_takes_an_io_error_is_found(bug: str, fast: Path) -> None:
    workload, faults, words = BROKEN_RUNS[bug]
    assert words in said_of(fast, workload, faults, bug)


@pytest.mark.planted("stream")
@pytest.mark.parametrize(("workload", "faults"), [("stream", WRITES), ("crowd", SYNCS)])
def test_without_a_bug_the_same_runs_find_nothing(workload: str, faults: list[Fault], fast: Path) -> None:
    assert said_of(fast, workload, faults, None) == ""


# ---------------------------------------------------------------- between processes

BROKEN_TESTS: dict[str, tuple[Callable[..., None], str]] = {
    "lock_kept": (test_full_disk.test_a_writer_that_failed_does_not_stand_in_the_way_of_others, "StoreBusy"),
    "fence_raised_too_early": (test_full_disk.test_a_turn_that_cannot_wait_on_a_full_disk_waits_later, "TurnSealed"),
    "close_gives_up": (
        test_full_disk.test_a_store_closed_on_a_full_disk_lets_go_and_the_next_open_recovers_its_turn,
        "-own_",
    ),
    "threads_that_raise": (
        test_full_disk.test_housekeeping_that_met_a_full_disk_writes_what_it_holds_when_there_is_room,
        "it never happens",
    ),
    "holder_unnamed": (
        test_bad_days.test_a_writer_stopped_inside_a_write_is_named_to_those_who_wait_and_nothing_is_lost,
        "locked for",
    ),
    "forks_unnoticed": (test_bad_days.test_a_forked_child_is_refused_and_the_parent_goes_on, "StoreClosed"),
    "children_clean_up": (
        test_bad_days.test_the_end_of_a_forked_child_drops_neither_the_locks_nor_the_files_of_its_parent,
        "-own_",
    ),
    "theft_unnoticed": (
        test_bad_days.test_a_store_that_was_replaced_by_another_is_not_written_to,
        "StoreGone",
    ),
    "log_moved_whoever_wrote": (
        test_bad_days.test_closed_without_its_log_a_store_leaves_what_others_have_written_since,
        "SessionNotFound",
    ),
    "log_never_shortened": (test_wal_size.test_with_readers_that_come_and_go_the_log_stays_small, "<= 24"),
}


def infected(start: Start, bug: str) -> Start:
    return lambda **options: start(bug=bug, **options)


@pytest.mark.planted("forks_unnoticed")
@pytest.mark.parametrize("bug", BROKEN_TESTS)
def test_a_bug_between_processes_is_found(bug: str, other: Start, fast: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "PATIENCE", 1.0)
    test, words = BROKEN_TESTS[bug]
    given: dict[str, Any] = {"other": infected(other, bug), "fast": fast}
    wanted = {name: value for name, value in given.items() if name in test.__annotations__}
    with pytest.raises((AssertionError, Refusal)) as found:
        test(**wanted)
    assert words in str(found.value)


# ---------------------------------------------------------------- the clock


@pytest.fixture
def mended(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the clock's bugs change in this process is put back."""
    monkeypatch.setattr(ids, "mint", ids.mint)
    for name in ("take_head", "advance_head"):
        monkeypatch.setattr(queries.Q, name, getattr(queries.Q, name))


@pytest.mark.usefixtures("mended")
@pytest.mark.parametrize(
    ("bug", "jumps", "what"),
    [
        ("clock_not_floored", "an hour back", "created_at"),
        ("clock_not_floored", "stuck", "created_at"),
        ("ids_not_floored", "an hour back", "message ids"),
        ("ids_of_twelve_digits", "over the wrap", "turn ids"),
    ],
)
def test_a_clock_that_is_believed_is_found(
    bug: str, jumps: str, what: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(bug)
    clock = Clock(monkeypatch, JUMPS[jumps][0])
    with palaver.open(path) as store:
        session = store.sessions.create()
        live_through(session, clock, JUMPS[jumps])
        assert turning.disorder(path, session.id)[what] > 0
