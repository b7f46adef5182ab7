"""A copy of an SQLite database that others may be writing to; run as a process of its own, with nothing but Python.

A process of its own, because a file that is opened and closed by other means than SQLite loses the locks that SQLite
holds on it for this process. Where `-shm` is there, somebody may have it open: SQLite reads it, and copies it as it
stands. Else nobody has: SQLite would make `-shm` beside it, so the files are copied, and the copy is opened.

It says what came of it as one JSON object on its output.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import sys
from contextlib import closing

MAGIC = b"SQLite format 3\0"
BESIDE = ("-wal", "-journal")
_TRIES = 5  # to copy files while nobody changes them
_PATIENCE = 10.0  # seconds for a lock


def take(source: str, target: str) -> dict[str, object]:
    """Copy the database; {"how": …}, or {"wrong": …, "why": …}."""
    try:
        with open(source, "rb") as file:
            head = file.read(len(MAGIC))
        if head != MAGIC:
            return {"wrong": "other" if head else "empty", "why": ""}
        if os.path.exists(f"{source}-shm") and _backed_up(source, target):
            return {"how": "backup"}
        return {"how": "copy" if _copied(source, target) else "torn"}
    except OSError as error:
        where = "full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else _KINDS.get(type(error), "unreadable")
        return {"wrong": where, "why": error.strerror or str(error)}


_KINDS = {FileNotFoundError: "missing", IsADirectoryError: "directory", NotADirectoryError: "missing"}


def _backed_up(source: str, target: str) -> bool:
    """Whether SQLite could copy it. All pages at one go: who writes meanwhile does not make it begin again."""
    name = "file:" + source.replace("%", "%25").replace("?", "%3f").replace("#", "%23") + "?mode=ro"
    try:
        with (
            closing(sqlite3.connect(name, uri=True, timeout=_PATIENCE)) as there,
            closing(sqlite3.connect(target)) as here,
        ):
            there.backup(here)
        return True
    except sqlite3.Error as error:
        for end in ("", *BESIDE):
            _remove(target + end)
        if "full" in str(error):
            raise OSError(errno.ENOSPC, str(error)) from None
        return False  # damaged, or no lock to be had: as its files are


def _copied(source: str, target: str) -> bool:
    """Whether the files were the same before and after they were copied. They are there either way."""
    for _ in range(_TRIES):
        before = _state(source)
        for end in ("", *BESIDE):
            _remove(target + end)
            if not end or os.path.exists(source + end):
                _copy(source + end, target + end)
        if _state(source) == before:
            return True
    return False


def _copy(source: str, target: str) -> None:
    try:
        shutil.copyfile(source, target)
    except FileNotFoundError:
        if source.endswith(BESIDE):  # it went meanwhile
            return
        raise


def _state(source: str) -> list[tuple[int, int] | None]:
    return [_stamp(source + end) for end in ("", "-shm", *BESIDE)]


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.unlink(path)


if __name__ == "__main__":
    os.umask(0o077)
    sys.stdout.write(json.dumps(take(*sys.argv[1:3])))
