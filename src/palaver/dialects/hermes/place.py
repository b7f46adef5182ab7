"""Where a SessionDB is, if nobody says: beside Hermes' own file, in its home."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ...errors import NotAStore, PalaverError
from ...store import Store

_NAME = "palaver.db"
_FIRST = b"SQLite format 3\x00"


def home() -> Path:
    """What Hermes itself asks for. A drop-in is told by the environment, as the original is."""
    return Path(os.environ.get("HERMES_HOME") or Path.home() / ".hermes")


def opened(place: Any, **options: Any) -> Store:
    """The store at a path or an address; by default, in Hermes' home."""
    from ... import open as open_store

    path = home() / _NAME if place is None else place
    if isinstance(path, Path) and not options.get("readonly"):
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return open_store(path, **options)
    except NotAStore as error:
        raise _why(path, error) from None


def _why(path: Any, error: PalaverError) -> PalaverError:
    """A file of Hermes' own is not opened in its place, but brought in."""
    if not looks_like_hermes(path):
        return error
    return NotAStore(
        f"{path} is Hermes' own file, and stays as it is: bring it in with `palaver --store NEW import --from hermes "
        f"{path}`, then open NEW"
    )


def looks_like_hermes(path: Any) -> bool:
    """By its bytes: a file that another program may have open is not opened with SQLite here."""
    try:
        with open(path, "rb") as file:
            begin = file.read(1 << 20)
    except (OSError, TypeError, ValueError):
        return False
    return begin.startswith(_FIRST) and b"schema_version" in begin and b"messages_fts" in begin
