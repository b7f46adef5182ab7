"""The location of the store: `--store`, else PALAVER_STORE, else palaver.db in PALAVER_HOME, else in ~/.palaver.

An empty variable is as good as none, as for other programs; an empty option is a mistake (of a script, mostly, whose
own variable is empty), and no other store is taken in its place.

A space of a Postgres database is named behind its address, `postgresql://host/database#acme`; or by `--space`, else by
PALAVER_SPACE. A command that only looks never makes a store: it says that there is none.
"""

from __future__ import annotations

import os

from ..base.address import is_server, split
from .exits import STORE, USAGE, Stop

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from typing import Any

    from palaver import Store


def home() -> str:
    """The directory of what Palaver keeps for this person."""
    return os.path.expanduser(os.environ.get("PALAVER_HOME") or "~/.palaver")


def locate(given: str | None, space: str | None = None) -> tuple[str, str | None]:
    """The store's address, and its space if it has several."""
    if given == "" or space == "":
        what = "store" if given == "" else "space"
        raise Stop(USAGE, f"a {what} has a name, and this one is empty; give it, or leave the option out", "Usage")
    url = given or os.environ.get("PALAVER_STORE")
    if not url:
        url = os.path.join(home(), "palaver.db")
    if url == ":memory:":
        raise Stop(USAGE, "a store in memory ends with the process that made it; name a file", "Usage")
    if not is_server(url):
        if space is not None:
            raise Stop(USAGE, "a file is one space by itself; leave --space out", "Usage")
        return os.path.expanduser(url), None
    _, _, behind = url.partition("://")
    authority, _, _ = behind.partition("/")
    if authority.count("@") > 1:
        raise Stop(USAGE, "an @ in a password is written %40 in an address", "Usage")
    url, named = split(url)
    if named is not None and space is not None and named != space:
        raise Stop(USAGE, f"the address says #{named} and --space says {space}; say it once", "Usage")
    return url, named or space or os.environ.get("PALAVER_SPACE") or None


def require(path: str) -> str:
    """The path, if there is something at it."""
    if "://" not in path and not os.path.exists(path):
        raise Stop(
            STORE, f"there is no store at {path}; record something first, or name another with --store", "NoStore"
        )
    return path


def open_store(url: str, space: str | None, *, create: bool, **options: Any) -> Store:
    from palaver.errors import NotAStore
    from palaver.opening import open_quietly

    if not is_server(url):
        return open_quietly(url if create else require(url), None, create=create, **options)
    if os.environ.get("PALAVER_POOLER"):
        options["pooler"] = True
    try:
        return open_quietly(url, space, create=create, **options)
    except NotAStore as error:
        raise Stop(STORE, str(error), "NoStore") from None
