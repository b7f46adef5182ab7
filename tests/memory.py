"""Temporary files in memory: most tests are about what a store says, not about the disk that it is on.

The process that starts the run makes one folder on the memory file system and names it in TMPDIR, for itself, its
workers and every process that a test starts; it is removed at the end. A test with the marker `on_disk` is about the
disk, and gets the ordinary place for temporary files. Where there is no memory file system, or little room on it, that
is what all tests get. `--basetemp` names a folder that is kept.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")
ENOUGH = 2**30  # bytes; a plain container has 64 MB
DISK = "PALAVER_TEST_DISK"  # the ordinary place, while TMPDIR is another
NAME = "palaver-run-"  # and the process whose folder it is


def move_in() -> str | None:
    """From here on, temporary files are in memory, if it has room for them; where those of pytest shall be."""
    if DISK in os.environ or not _has_room(MEMORY):
        return None
    _clear(MEMORY)
    os.environ[DISK] = tempfile.gettempdir()
    folder = MEMORY / f"{NAME}{os.getpid()}"
    folder.mkdir(mode=0o711)  # a server's own user passes through it
    folder.chmod(0o711)
    _use(str(folder))
    return str(folder / "t")


def move_out() -> None:
    """Remove what this process had put there."""
    folder = MEMORY / f"{NAME}{os.getpid()}"
    if folder.exists():
        _use(os.environ.pop(DISK))
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def on_disk() -> Iterator[None]:
    """Temporary files are in the ordinary place."""
    with _in(os.environ.get(DISK, tempfile.gettempdir())):
        yield


@contextmanager
def off_disk() -> Iterator[None]:
    """They are where most tests have them, also inside a test about the disk: for what outlives it."""
    with _in(_left[0] if _left else tempfile.gettempdir()):
        yield


_left: list[str] = []  # where they were, outermost first


@contextmanager
def _in(folder: str) -> Iterator[None]:
    before = tempfile.gettempdir()
    _left.append(before)
    _use(folder)
    try:
        yield
    finally:
        _use(before)
        _left.pop()


def _use(folder: str) -> None:
    os.environ["TMPDIR"] = tempfile.tempdir = folder


def _has_room(place: Path) -> bool:
    if not os.access(place, os.W_OK | os.X_OK):
        return False
    found = os.statvfs(place)
    return found.f_bavail * found.f_frsize >= ENOUGH


def _clear(place: Path) -> None:
    """Runs that were killed could not remove theirs."""
    for folder in place.glob(f"{NAME}*"):
        if not _is_alive(int(folder.name.removeprefix(NAME))):
            shutil.rmtree(folder, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
