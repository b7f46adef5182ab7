"""What happens to a store as a whole."""

from __future__ import annotations

import palaver
from palaver.db.sqlite.liveness import FileLife


def kill(store: palaver.Store) -> None:
    """What the kernel does for a process that dies: threads end, every descriptor is closed, nothing is sealed."""
    store._background.maintenance.end()
    store.db.close()
    life = store._engine.life
    assert isinstance(life, FileLife)
    if life._file is not None:
        life._file.forget()
        life._file = None
