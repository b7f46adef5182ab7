"""The write-ahead log and readers: it may only grow while somebody holds a snapshot, and comes back when that ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Other

Start = Callable[..., Other]
BOUND = 64  # megabytes; a log that nobody holds is far below it
PIECE = 1 << 20  # one message


def log_size(folder: Path) -> int:
    """In megabytes, as the file is."""
    return (folder / "s.db-wal").stat().st_size >> 20


def write(writer: Other, session: str, megabytes: int, folder: Path) -> int:
    """The largest size that the log had meanwhile."""
    largest = 0
    for _ in range(megabytes // 5):
        writer("commit_many", session, 5, PIECE)
        largest = max(largest, log_size(folder))
    return largest


def check_that_the_log_shrinks(other: Start, folder: Path, *, megabytes: int, bound: int) -> None:
    writer, reader = other(), other()
    session = writer("create")
    writer("commit", session, "first")
    reader("hold_a_snapshot")
    assert write(writer, session, megabytes, folder) > bound  # nothing to be done: the reader needs the old pages
    assert reader("count_messages") == 1
    reader("let_the_snapshot_go")
    write(writer, session, 5, folder)
    assert log_size(folder) <= bound
    assert reader("sizes", session) == [len("user: first"), *[len("user: ") + PIECE] * (megabytes + 5)]


def check_that_the_log_stays_small(other: Start, folder: Path, *, megabytes: int, bound: int) -> None:
    writer, reader = other(), other()
    session, small = writer("create"), writer("create")
    writer("commit", small, "first")
    reader.ask("read_for", small, 0.8)
    assert write(writer, session, megabytes, folder) <= bound
    assert reader.answer() > 5


def test_while_a_snapshot_is_held_writers_go_on_and_when_it_ends_the_log_shrinks(other: Start, fast: Path) -> None:
    check_that_the_log_shrinks(other, fast, megabytes=30, bound=24)


def test_with_readers_that_come_and_go_the_log_stays_small(other: Start, fast: Path) -> None:
    check_that_the_log_stays_small(other, fast, megabytes=30, bound=24)


@pytest.mark.long
def test_after_a_snapshot_of_100_megabytes_ago_the_log_comes_back_under_64(other: Start, fast: Path) -> None:
    check_that_the_log_shrinks(other, fast, megabytes=100, bound=BOUND)


@pytest.mark.long
def test_with_readers_that_come_and_go_the_log_stays_under_64_megabytes_for_500(other: Start, fast: Path) -> None:
    check_that_the_log_stays_small(other, fast, megabytes=500, bound=BOUND)
