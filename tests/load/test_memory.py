"""Memory: what a process takes at most, as the system counts it, while it writes large things or very many.

The default run is scaled down: 40 MB for 100 (what is smaller, the allocator may keep), ten thousand parts for
a hundred thousand.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .crowd import CREW

PROGRAM_MB = 40  # Python, SQLite and Palaver with nothing to do take some 26
FLAT_MB = 60
LIMIT_MB = 150

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc to read the peak from")


COPIES = 3.2  # the caller's, and SQLite's two to bind and to write it


def limit(megabytes: int) -> float:
    return COPIES * megabytes + PROGRAM_MB


def write_an_output(path: str, megabytes: int, form: str, events: str = "live") -> int:
    report = CREW.alone("write_a_large_output", path=path, megabytes=megabytes, form=form, events=events)
    print(f"{megabytes} MB as {form}: at most {report['peak']} MB (limit {limit(megabytes)})")
    assert report["kept"] == megabytes << 20
    return int(report["peak"])


@pytest.mark.parametrize("form", ["values", "json"])
def test_a_tool_output_of_40_mb(path: str, form: str) -> None:
    assert write_an_output(path, 40, form) <= limit(40)


def test_a_tool_output_of_40_mb_where_every_event_is_kept(path: str) -> None:
    assert write_an_output(path, 40, "json", "full") <= limit(40)


@pytest.mark.long
@pytest.mark.parametrize("form", ["values", "json"])
def test_a_tool_output_of_100_mb(path: str, form: str) -> None:
    assert write_an_output(path, 100, form) <= limit(100)


def stream_parts(path: str, parts: int, turns: int) -> int:
    report = CREW.alone("stream_many_parts", path=path, parts=parts, turns=turns)
    print(f"{parts} parts in {turns} turns: at most {report['peak']} MB")
    assert report["kept"] == parts
    return int(report["peak"])


def test_a_session_of_ten_thousand_parts(path: str) -> None:
    assert stream_parts(path, 10_000, turns=100) <= FLAT_MB


@pytest.mark.long
@pytest.mark.parametrize("turns", [1, 1000])
def test_a_session_of_a_hundred_thousand_parts(path: str, turns: int) -> None:
    assert stream_parts(path, 100_000, turns) <= LIMIT_MB
