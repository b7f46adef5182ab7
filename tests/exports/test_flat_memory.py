"""Memory stays flat, whatever the size of the file or of one session in it: 50 MB here, 1 GB in the long run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LIMIT_MB = 150

MAKE = """
import sys, palaver
path, file, megabytes = sys.argv[1], sys.argv[2], int(sys.argv[3])
text = "z" * 100_000
with palaver.open(path, durability="normal") as store:
    session = store.sessions.create("coder")
    for number in range(megabytes * 53 // 10):
        session.commit([f"{number} {text}", {"role": "assistant", "parts": [{"type": "text", "text": text}]}])
        for _ in range(8):
            session.commit(["short"])
"""
PEAK = """
def peak():  # of this program: ru_maxrss would count the one that started it too
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1024
"""
EXPORT = PEAK + """
import sys, palaver
from palaver import exports
with palaver.open(sys.argv[1]) as store, open(sys.argv[2], "wb") as out:
    written = exports.write(store.db, out)
print(written.bytes, peak())
"""
IMPORT = PEAK + """
import sys, palaver
from palaver import exports
with palaver.open(sys.argv[1]) as store, open(sys.argv[2], "rb") as source:
    print(exports.read(store.db, source).imported, end=" ")
    source.seek(0)
    print(exports.read(store.db, source).already_there, end=" ")
print(peak())
"""


def run(code: str, *arguments: object) -> list[int]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    out = subprocess.run(command, capture_output=True, text=True, timeout=3600, check=True).stdout
    return [int(number) for number in out.split()]


def flat(folder: Path, megabytes: int) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("no /proc to read the peak from")
    here, there, file = folder / "here.db", folder / "there.db", folder / "file.jsonl"
    run(MAKE, here, file, megabytes)
    size, export_peak = run(EXPORT, here, file)
    assert size > megabytes << 20
    imported, again, import_peak = run(IMPORT, there, file)
    assert (imported, again) == (1, 1)
    assert (export_peak <= LIMIT_MB, import_peak <= LIMIT_MB) == (True, True), (export_peak, import_peak)


def test_50_mb_in_one_session_go_out_and_in_within_150_mb(tmp_path: Path) -> None:
    flat(tmp_path, 50)


@pytest.mark.long
def test_1_gb_in_one_session_goes_out_and_in_within_150_mb(tmp_path: Path) -> None:
    flat(tmp_path, 1024)
