"""Where a SessionDB is, if nobody says: beside Hermes' own file, in its home."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ...errors import NotAStore
from ...store import Store

_NAME = "palaver.db"


def home() -> Path:
    """What Hermes itself asks for. A drop-in is told by the environment, as the original is."""
    return Path(os.environ.get("HERMES_HOME") or Path.home() / ".hermes")


def opened(place: Any, **options: Any) -> Store:
    """The store at a path or an address; by default, in Hermes' home. A file that is there is a store, or is left as it
    is: Hermes' own is not opened in its place, but brought in."""
    from ... import open as open_store

    path = home() / _NAME if place is None else place
    is_there = isinstance(path, str | os.PathLike) and os.path.isfile(path) and os.path.getsize(path) > 0
    if isinstance(path, Path) and not is_there and not options.get("readonly"):
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return open_store(path, **({"create": False} | options if is_there else options))
    except NotAStore as error:
        if "is a database" not in str(error):
            raise
        why = f"; if it is Hermes' own file, `palaver --store NEW import --from hermes {path}` brings it in"
        raise NotAStore(f"{error}{why}") from None
