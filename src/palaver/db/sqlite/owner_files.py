"""Owner files: `…-owners/<owner>`, one for each process that writes, flocked for as long as the process lives.

An owner is dead when its lock can be had; process ids lie across containers and restarts. Where the file is missing,
some program tidied up, and nothing is known yet: a note beside it (`.missed`) says since when (see liveness.py).
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress

from ..os_errors import told
from . import inherited
from .filesystem import refuse_link

HELD, FREE, MISSING = range(3)
_FRESH, _MISSED = ".new", ".missed"  # beside an owner's file: while it is made, and when it was found missing


class OwnerFile:
    """The file of this process: locked until the process ends."""

    def __init__(self, folder: str, owner: str) -> None:
        self.folder, self.owner, self.path = folder, owner, os.path.join(folder, owner)
        self.fd = -1
        self.make()
        inherited.keep(self)

    def make(self) -> None:
        """Make the file, also again where some program removed it. It is locked under another name and then renamed:
        no process may find it without its lock."""
        refuse_link(self.folder)
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        fd = os.open(self.path + _FRESH, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            os.rename(self.path + _FRESH, self.path)
        except BaseException:
            os.close(fd)
            raise
        self.forget()
        self.fd = fd
        take_back(self.folder, self.owner)

    def is_there(self) -> bool:
        """Other processes can still find it: nobody removed or replaced it. Where we may not look, nor may they."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self.fd))
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True

    def close(self) -> None:
        """Unlock and remove it. A file that cannot be removed stays: without its lock it says that we are gone."""
        if self.fd >= 0:
            self.forget()
            with suppress(OSError):
                os.unlink(self.path)

    def forget(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def look(folder: str, owner: str) -> int:
    """HELD: the owner lives. FREE: it is dead. MISSING: some program removed its file."""
    name = _beside(folder, owner)
    try:
        fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return MISSING
    except PermissionError:  # another user's: what may not be looked at is no sign of death
        return HELD
    except OSError as error:
        raise told(error, name, "nobody can tell whether its writer lives") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return HELD
    finally:
        os.close(fd)
    return FREE


def is_ours(owner: str) -> bool:
    """A store of this process holds the lock of this owner."""
    return owner in _ours()


def _ours() -> set[str]:
    return {file.owner for file in inherited.kept() if isinstance(file, OwnerFile) and file.fd >= 0}


def has_only_ours(folder: str) -> bool:
    """The folder has no file of another process, living or dead; or there is no such folder."""
    found = _listed(folder)
    ours = _ours()
    return found is not None and all(name in ours or name.endswith(_MISSED) for name in found)


def are_hidden(folder: str) -> bool:
    """The files in it are another user's and may not be read: whether that user's processes live cannot be told."""
    found = _listed(folder)
    if found is None:
        return True
    files = [os.path.join(folder, name) for name in found if not name.endswith((_MISSED, _FRESH))]
    return any(os.path.exists(file) and not os.access(file, os.R_OK) for file in files)


def _listed(folder: str) -> list[str] | None:
    """The names in the owners' folder, none where there is no folder; None: it may not be read."""
    refuse_link(folder)
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except PermissionError:
        return None
    except OSError as error:
        raise told(error, folder, "nobody can tell whether its writers live") from None


def first_missed(folder: str, owner: str, *, noting: bool) -> float | None:
    """For how many seconds an owner's file has been known to be missing: the process that looks first leaves a note
    beside it, with `noting`. None: this was the first look."""
    note = _beside(folder, owner + _MISSED)
    try:
        return time.time() - os.stat(note).st_mtime
    except (FileNotFoundError, NotADirectoryError):
        if noting:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            os.close(os.open(note, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    return None


def take_back(folder: str, owner: str) -> None:
    """Remove the note that an owner's file was missing: the owner lives."""
    with suppress(FileNotFoundError):
        os.unlink(_beside(folder, owner + _MISSED))


def remove(folder: str, owner: str) -> None:
    """Remove all files of an owner that is dead."""
    for end in ("", _MISSED, _FRESH):
        with suppress(FileNotFoundError):
            os.unlink(_beside(folder, owner + end))


def _beside(folder: str, name: str) -> str:
    """A file in the owners' folder."""
    refuse_link(folder)
    return os.path.join(folder, name)
