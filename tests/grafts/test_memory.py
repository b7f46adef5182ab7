"""Memory stays flat, however long one session of a source is: 20 MB here, 1 GB in the long run."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..exports.test_flat_memory import PEAK, run

LIMIT_MB = 150
GRAFT = (
    PEAK
    + """
import sys, palaver
from palaver import GraftItem, GraftSession, GraftTurn
path, megabytes, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
count = (megabytes << 20) // size

def turns():
    place = 0
    for number in range(count):
        words = f"{number} " + f"{number * 7919:08x} " * (size // 9)
        item = GraftItem(words.encode(), f"item-{number}", "log", place)
        place += len(item.body)
        yield GraftTurn([item], [{"role": "user", "content": f"{number}?"}, {"role": "assistant", "content": words}])

with palaver.open(path, durability="normal") as store:
    print(store.graft(GraftSession("there", "s", turns())).turns, end=" ")
    print(store.graft(GraftSession("there", "s", turns())).turns, end=" ")
print(peak())
"""
)
HOARD = """
from palaver.grafts import preparing
kept, native = [], preparing.native
def hoard(item, key):
    kept.append((item, bytearray(item.body)))
    return native(item, key)
preparing.native = hoard
"""


def peak(folder: Path, megabytes: int, size: int = 4_000, before: str = "") -> int:
    if not Path("/proc/self/status").exists():
        pytest.skip("no /proc to read the peak from")
    turns, again, found = run(before + GRAFT, folder / f"{megabytes}.db", megabytes, size)
    assert (turns, again) == ((megabytes << 20) // size, 0)
    return found


@pytest.fixture(scope="module")
def most(tmp_path_factory: pytest.TempPathFactory) -> float:
    """What is flat, by what 4 MB need."""
    return peak(tmp_path_factory.mktemp("small"), 4) * 1.3 + 5


def test_20_mb_need_no_more_than_4(tmp_path: Path, most: float) -> None:
    assert peak(tmp_path, 20) <= most


def test_a_graft_that_keeps_what_it_has_written_would_be_noticed(tmp_path: Path, most: float) -> None:
    assert peak(tmp_path, 20, before=HOARD) > most


@pytest.mark.long
def test_1_gb_in_one_session_comes_in_within_150_mb(tmp_path: Path) -> None:
    assert peak(tmp_path, 1_024) <= LIMIT_MB
