"""Lock files that a forked child inherits, and must drop.

A flock belongs to the open file, which parent and child share after `fork()`. The child closes its copies of the
descriptors at once: the locks stay with the parent, and end with it.
"""

from __future__ import annotations

import os
import threading
import weakref

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from typing import Protocol

    class Holder(Protocol):
        """An object that holds a locked file."""

        def forget(self) -> None:
            """Close the file; the lock, and the file's name, stay as they are."""


_HOLDERS: weakref.WeakSet[Holder] = weakref.WeakSet()
_GUARD = threading.RLock()  # a signal's handler may come in while its own thread is in here


def keep(holder: Holder) -> None:
    """From now on a forked child drops what this one holds."""
    with _GUARD:
        _HOLDERS.add(holder)


def kept() -> list[Holder]:
    with _GUARD:
        return list(_HOLDERS)


def _after_fork() -> None:
    _GUARD.release()
    for holder in kept():
        holder.forget()


os.register_at_fork(before=_GUARD.acquire, after_in_parent=_GUARD.release, after_in_child=_after_fork)
