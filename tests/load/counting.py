"""Counting what a verb costs: statements, frames of the write-ahead log, syncs. None varies with the machine."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

PAGE = 2048
_HEADER, _FRAME = 32, 24 + PAGE


@contextmanager
def statements() -> Iterator[list[str]]:
    """Every statement of this thread on connections that are opened inside, in order; housekeeping is not counted."""
    run: list[str] = []
    counted = threading.current_thread()

    def note(event: dict[str, Any]) -> None:
        if threading.current_thread() is counted:
            run.append(event["sql"])

    def watch(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, note)

    apsw.connection_hooks.append(watch)
    try:
        yield run
    finally:
        apsw.connection_hooks.remove(watch)


@contextmanager
def steps() -> Iterator[list[int]]:
    """How many steps SQLite's machine takes for every statement that connections run which are opened inside."""
    taken: list[int] = []

    def watch(connection: apsw.Connection) -> None:
        connection.trace_v2(
            apsw.SQLITE_TRACE_PROFILE, lambda event: taken.append(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"])
        )

    apsw.connection_hooks.append(watch)
    try:
        yield taken
    finally:
        apsw.connection_hooks.remove(watch)


def frames(path: str, times: int, verb: Callable[[int], object]) -> float:
    """Frames of the log that one call writes, over so many. They must be few enough not to be checkpointed."""
    db = apsw.Connection(path)
    db.set_busy_timeout(10_000)
    assert db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall() == [(0, 0, 0)]
    db.close()
    for number in range(times):
        verb(number)
    written = (os.stat(path + "-wal").st_size - _HEADER) / _FRAME
    assert written == int(written) < 2000
    return written / times


class _File(apsw.VFSFile):
    def __init__(self, syncs: list[str], seconds: float, base: str, name: Any, flags: list[int]) -> None:
        given = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._syncs, self._seconds, self._name = syncs, seconds, Path(given or "").suffix
        super().__init__(base, name, flags)

    def xSync(self, flags: int) -> None:
        self._syncs.append(self._name)
        time.sleep(self._seconds)
        super().xSync(flags)


class _FileSystem(apsw.VFS):
    def __init__(self, syncs: list[str], seconds: float) -> None:
        self._syncs, self._seconds, self._base = syncs, seconds, apsw.vfs_names()[0]
        super().__init__("counted", self._base, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return _File(self._syncs, self._seconds, self._base, name, flags)


_kept: list[apsw.VFS] = []  # a file system must outlive its connections


def count_syncs(seconds: float = 0.0) -> list[str]:
    """From here on, the suffix of every file that SQLite syncs in this process; each sync takes so long at least."""
    syncs: list[str] = []
    _kept.append(_FileSystem(syncs, seconds))
    return syncs
