"""A disk under SQLite that can be full (for commits), slow, or interrupt whoever commits; it counts its syncs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import apsw

_kept: list[apsw.VFS] = []  # a file system must outlive its connections


class Disk(apsw.VFS):
    """While it is registered, every database is opened on it."""

    def __init__(self) -> None:
        self.full = False
        self.sync_seconds = 0.0
        self.syncs = 0
        self.before_sync: Callable[[], None] | None = None
        self._base = apsw.vfs_names()[0]
        super().__init__(f"disk {len(_kept)}", self._base, makedefault=True)
        _kept.append(self)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return _File(self, self._base, name, flags)


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, base: str, name: Any, flags: list[int]) -> None:
        given = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._disk, self._is_log = disk, (given or "").endswith("-wal")
        super().__init__(base, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        if self._disk.full and self._is_log:  # apsw would hand on what SQLite overlooks when it checkpoints
            raise apsw.FullError("no space left on this disk")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        self._disk.syncs += 1
        if self._disk.before_sync:
            self._disk.before_sync()
        time.sleep(self._disk.sync_seconds)


@contextmanager
def commits_watched(after_commit: Callable[[], None]) -> Iterator[None]:
    """Connections opened inside call this right behind each COMMIT, where a signal that came meanwhile is raised."""

    def watch(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, seen)

    def seen(event: dict[str, Any]) -> None:
        if event["sql"].rstrip("; ") == "COMMIT":
            after_commit()

    apsw.connection_hooks.append(watch)
    try:
        yield
    finally:
        apsw.connection_hooks.remove(watch)
