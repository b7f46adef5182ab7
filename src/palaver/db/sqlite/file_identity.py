"""The identity (device, inode) of an open store's files: the database, its log and the log's index.

If a program removes, moves or replaces one of them while the store is open, SQLite goes on writing into a file that
nobody will find again, and two processes that have different ones open do not see each other's locks. So a process
checks them before a write whenever it stood in line for it.
"""

from __future__ import annotations

import os

from ...errors import StoreGone

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    Identity = tuple[int, int] | None

_ENDS = ("", "-wal", "-shm")


class Files:
    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: dict[str, Identity] = {path + end: _identity(path + end) for end in _ENDS}

    def refuse_others(self) -> None:
        """Refuse files that are not those of the open. A file that was not there then is remembered now."""
        for name, seen in self._seen.items():
            found = _identity(name, seen)
            if seen is None:
                self._seen[name] = found
            elif found != seen:
                raise StoreGone(self._path, name)

    def stranger(self) -> str | None:
        """The file whose change means that another process may use the database without seeing our locks: then this
        process must not checkpoint the log into it. Where only the log is gone, or the database was moved away, no
        other process uses what we have open."""
        database, index = self._path, self._path + "-shm"
        if _identity(database, None) not in (self._seen[database], None):
            return database
        seen = self._seen[index]
        return index if seen not in (_identity(index, seen), None) else None


def _identity(name: str, otherwise: Identity = None) -> Identity:
    """None: there is no such file. `otherwise`: this process may not look at it now (and SQLite will say so)."""
    try:
        found = os.stat(name)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return otherwise
    return found.st_dev, found.st_ino
