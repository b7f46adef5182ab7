"""The files of an open store: the database, its log and the log's index, as they were when it was opened.

If one of them is removed, moved or replaced meanwhile, SQLite goes on writing into what nobody will find again, and
two programs that hold different ones do not see each other's locks. So it is looked at now and then, before a write.
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
        """They must be the same as before. One that was not there yet is now."""
        for name, seen in self._seen.items():
            found = _identity(name, seen)
            if seen is None:
                self._seen[name] = found
            elif found != seen:
                raise StoreGone(self._path, name)

    def stranger(self) -> str | None:
        """The file that shows that others may use what we hold, unseen by our locks: then the log is not ours to move
        into the database any more. A log alone that is gone, or a database that was moved away, is still ours."""
        database, index = self._path, self._path + "-shm"
        if _identity(database, None) not in (self._seen[database], None):
            return database
        seen = self._seen[index]
        return index if seen not in (_identity(index, seen), None) else None


def _identity(name: str, otherwise: Identity = None) -> Identity:
    """None: there is no such file. `otherwise`: it may not be looked at now (and SQLite will say so)."""
    try:
        found = os.stat(name)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return otherwise
    return found.st_dev, found.st_ino
