"""Where the store is: `--store`, else PALAVER_STORE, else palaver.db in PALAVER_HOME, else in ~/.palaver.

A command that only looks never makes a store: it says that there is none.
"""

from __future__ import annotations

import os

from .exits import STORE, Stop


def home() -> str:
    """The directory of what Palaver keeps for this person."""
    return os.path.expanduser(os.environ.get("PALAVER_HOME") or "~/.palaver")


def locate(given: str | None) -> str:
    url = given or os.environ.get("PALAVER_STORE")
    return os.path.expanduser(url) if url else os.path.join(home(), "palaver.db")


def require(path: str) -> str:
    """The path, if there is something at it."""
    if "://" not in path and not os.path.exists(path):
        raise Stop(
            STORE, f"there is no store at {path}; record something first, or name another with --store", "NoStore"
        )
    return path
