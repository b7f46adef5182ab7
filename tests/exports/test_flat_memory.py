"""Memory stays flat, whatever the size of the file or of one session in it: 25 MB here, 1 GB in the long run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LIMIT_MB = 150
SCALED_MB = 50  # for 25 MB: a program that kept the file in memory would need more

MAKE = """
import sys, palaver
path, megabytes = sys.argv[1], int(sys.argv[2])
text = "z" * 100_000
with palaver.open(path, durability="normal") as store:
    session = store.sessions.create("coder")
    for number in range(megabytes * 53 // 10):
        session.commit([f"{number} {text}", {"role": "assistant", "parts": [{"type": "text", "text": text}]}])
        for _ in range(8):
            session.commit(["short"])
"""
MAKE_ITEMS = """
import random, sys, palaver
from palaver import GraftItem, GraftSession, GraftTurn
path, megabytes = sys.argv[1], int(sys.argv[2])
noise = random.Random(1)
def turns():  # one packs well, one not at all
    for number in range(megabytes * 6):
        yield GraftTurn([GraftItem(b"%d" % number * 20_000, id=f"a{number}"), GraftItem(noise.randbytes(100_000))])
with palaver.open(path, durability="normal") as store:
    store.graft(GraftSession("toy", "s-1", turns()))
"""
PEAK = """
def peak():  # of this program: ru_maxrss would count the one that started it too
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1024
"""
EXPORT = (
    PEAK
    + """
import sys, palaver
from palaver import exports
with palaver.open(sys.argv[1]) as store, open(sys.argv[2], "wb") as out:
    written = exports.write(store.db, out)
print(written.bytes, peak())
"""
)
IMPORT = (
    PEAK
    + """
import sys, palaver
from palaver import exports
with palaver.open(sys.argv[1]) as store, open(sys.argv[2], "rb") as source:
    print(exports.read(store.db, source).imported, end=" ")
    source.seek(0)
    print(exports.read(store.db, source).already_there, end=" ")
print(peak())
"""
)

HOARD = """
from palaver.exports.tables import Table
kept, checked = [], Table.row
def row(self, fields, *version):
    kept.append(checked(self, fields, *version))
    return kept[-1]
Table.row = row
"""


def run(code: str, *arguments: object) -> list[int]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    out = subprocess.run(command, capture_output=True, text=True, timeout=3600, check=True).stdout
    return [int(number) for number in out.split()]


def make(folder: Path, megabytes: int, code: str = MAKE) -> Path:
    """A file of that size, one session in it; the program that wrote it was flat."""
    if not Path("/proc/self/status").exists():
        pytest.skip("no /proc to read the peak from")
    run(code, folder / "here.db", megabytes)
    size, peak = run(EXPORT, folder / "here.db", folder / "file.jsonl")
    assert size > megabytes << 20
    assert peak <= SCALED_MB
    return folder / "file.jsonl"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("flat"), 25)


def test_25_mb_in_one_session_go_in_within_50_mb(file: Path, tmp_path: Path) -> None:
    imported, again, peak = run(IMPORT, tmp_path / "there.db", file)
    assert (imported, again) == (1, 1)
    assert peak <= SCALED_MB


@pytest.mark.long
def test_25_mb_of_items_in_one_session_go_out_and_in_within_50_mb(tmp_path: Path) -> None:
    imported, again, peak = run(IMPORT, tmp_path / "there.db", make(tmp_path, 25, MAKE_ITEMS))
    assert (imported, again) == (1, 1)
    assert peak <= SCALED_MB


def test_a_program_that_keeps_what_it_reads_would_be_noticed(file: Path, tmp_path: Path) -> None:
    assert run(HOARD + IMPORT, tmp_path / "there.db", file)[2] > SCALED_MB


@pytest.mark.long
def test_1_gb_in_one_session_goes_out_and_in_within_150_mb(tmp_path: Path) -> None:
    imported, again, peak = run(IMPORT, tmp_path / "there.db", make(tmp_path, 1024))
    assert (imported, again) == (1, 1)
    assert peak <= LIMIT_MB
