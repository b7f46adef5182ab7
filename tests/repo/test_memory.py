"""Temporary files of tests: in memory where there is room, on the disk for a test about it, and none is left."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from .. import memory

ROOT = Path(__file__).parents[2]
INSIDE = """
import os, tempfile
from pathlib import Path
import pytest

def test_in_memory(tmp_path):
    Path(os.environ["SEEN"]).write_text(f"{tmp_path} {tempfile.gettempdir()}")

@pytest.mark.on_disk
def test_on_disk(tmp_path):
    with Path(os.environ["SEEN"]).open("a") as seen:
        seen.write(f" {tmp_path} {tempfile.gettempdir()}")
"""


@pytest.fixture
def nobody_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that starts a run."""
    monkeypatch.setenv("TMPDIR", os.environ.get(memory.DISK, tempfile.gettempdir()))
    monkeypatch.delenv(memory.DISK, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", None)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(memory, "MEMORY", tmp_path)
    monkeypatch.setattr(memory, "ENOUGH", 1)
    return tmp_path


@pytest.mark.usefixtures("nobody_moved")
def test_files_move_into_memory_and_out_again(place: Path) -> None:
    before = tempfile.gettempdir()
    memory.move_in()
    assert Path(tempfile.gettempdir()).parent == place == Path(os.environ["TMPDIR"]).parent
    with memory.on_disk():
        assert tempfile.gettempdir() == before == os.environ["TMPDIR"]
        with memory.off_disk():
            assert Path(tempfile.gettempdir()).parent == place == Path(os.environ["TMPDIR"]).parent
        assert tempfile.gettempdir() == before
    assert Path(tempfile.gettempdir()).parent == place
    memory.move_out()
    assert tempfile.gettempdir() == before and list(place.iterdir()) == []


@pytest.mark.usefixtures("nobody_moved")
def test_little_room_or_none_is_no_place_for_them(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tempfile.gettempdir()
    monkeypatch.setattr(memory, "ENOUGH", 2**62)
    memory.move_in()
    monkeypatch.setattr(memory, "ENOUGH", 1)
    monkeypatch.setattr(memory, "MEMORY", place / "nowhere")
    memory.move_in()
    assert tempfile.gettempdir() == before and memory.DISK not in os.environ


@pytest.mark.usefixtures("nobody_moved")
def test_what_a_killed_run_left_is_removed_by_the_next_and_a_living_ones_is_not(place: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(60)
    (place / f"{memory.NAME}{gone.pid}" / "talks").mkdir(parents=True)
    (place / f"{memory.NAME}{os.getppid()}").mkdir()
    memory.move_in()
    memory.move_out()
    assert [one.name for one in place.iterdir()] == [f"{memory.NAME}{os.getppid()}"]


def test_a_run_leaves_nothing_in_memory(tmp_path: Path) -> None:
    (tmp_path / "test_inside.py").write_text(INSIDE)
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n")
    left_out = (memory.DISK, "PALAVER_TEST_RUN", "PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    disk = os.environ.get(memory.DISK, tempfile.gettempdir())
    environment |= {"SEEN": str(tmp_path / "seen"), "PYTHONPATH": str(ROOT), "TMPDIR": disk}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml")]
    run = subprocess.run([*command, str(tmp_path)], env=environment, cwd=tmp_path, capture_output=True, timeout=120)
    assert run.returncode == 0, run.stdout
    kept, usual, on_disk, usual_there = (tmp_path / "seen").read_text().split()
    assert usual_there == disk and Path(on_disk).parent == Path(disk)
    assert Path(kept).is_relative_to(usual), "pytest's own are elsewhere"
    assert not Path(kept).exists() and not Path(on_disk).exists()
    if usual != disk:
        assert Path(usual).parent == memory.MEMORY and not Path(usual).exists()
