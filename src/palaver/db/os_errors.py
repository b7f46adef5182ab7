"""What the operating system's errors mean to a person: translated in one place."""

from __future__ import annotations

import errno
import os

from ..errors import StoreError, StoreFull, StoreReadOnly, TooManyFiles

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_NO_FILES = (errno.EMFILE, errno.ENFILE)
_NO_RIGHT = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP, errno.ENOENT)


def told(error: OSError, name: str, todo: str = "check who may write there", *, verb: str = "open") -> StoreError:
    """Of a file that could not be opened, made or removed."""
    if error.errno in _NO_FILES:
        return TooManyFiles(name)
    if error.errno in _NO_ROOM:
        return StoreFull(f"there is no room for {name}; nothing acknowledged was lost, free some space")
    sentence = f"cannot {verb} {name}: {error.strerror}; {todo}"
    return StoreReadOnly(sentence) if error.errno in _NO_RIGHT else StoreError(sentence)


def refuse_too_many(error: OSError, name: str) -> None:
    if error.errno in _NO_FILES:
        raise TooManyFiles(name) from None


def has_too_many() -> bool:
    """This process, or the system, has no file to spare. SQLite only says that it could not open one."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        return error.errno in _NO_FILES
    return False
