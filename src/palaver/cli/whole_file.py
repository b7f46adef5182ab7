"""A file that a command writes: it appears under its name when it is whole, and never in the place of a database.

A database is more than its file: others may be writing to it, and what they were told is safe lies in its log. So
nothing is put in its place, whichever store is read; a person who means it removes it first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from .exits import USAGE, Stop

_DATABASE = b"SQLite format 3\0"
_BESIDE = ("-wal", "-shm", "-journal", "-queue", "-owners")  # what belongs to a database, by the end of its name


@contextmanager
def whole_file(path: str) -> Iterator[BinaryIO]:
    """A private file. A device or a pipe is written to as it is: to put a file in its place would take it away from
    everybody."""
    if os.path.exists(path) and not os.path.isfile(path):
        with _opened(path) as out:
            yield out
        return
    _refuse_database(path)
    part = f"{path}.{os.getpid()}.part"
    try:
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Stop(USAGE, f"cannot write {path}: {error.strerror}", "Usage") from None
    try:
        with open(fd, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        _refuse_database(path)  # it may have been made since
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise


def is_database(path: str) -> bool:
    """Whether it begins as an SQLite database does, or has beside it what only a database has."""
    if any(os.path.exists(path + end) for end in _BESIDE):
        return True
    try:
        with open(path, "rb") as file:
            return file.read(len(_DATABASE)) == _DATABASE
    except OSError as error:
        raise Stop(USAGE, f"cannot see whether {path} is a store: {error.strerror}", "Usage") from None


def _refuse_database(path: str) -> None:
    owners = [path[: -len(end)] for end in _BESIDE if path.endswith(end)]
    for one in (path, *owners):
        if os.path.isfile(one) and is_database(one):
            whose = "is a store, or another database" if one == path else f"belongs to the database {one}"
            raise Stop(USAGE, f"{path} {whose}, and nothing is written over it; name another file", "Exists")


def _opened(path: str) -> BinaryIO:
    try:
        return open(path, "wb")
    except OSError as error:
        raise Stop(USAGE, f"cannot write {path}: {error.strerror}", "Usage") from None
