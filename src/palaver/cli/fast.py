"""Plain command lines that are answered before click or the handles of Palaver are loaded: what is the same for all.

Only the simplest are taken; every other, and every mistake, goes the long way.
"""

from __future__ import annotations

from palaver.db.sqlite.filesystem import locate
from palaver.db.sqlite.readonly import ReadOnlyDatabase

from . import location

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Wanted = dict[str, Any]


def asked(args: list[str], command: str, parse: Callable[[list[str]], Wanted | None]) -> Wanted | None:
    """What a command line asks of a command; None: it is another's, or not plain."""
    if len(args) > 2 and args[0] in ("-s", "--store"):  # the option of the whole program
        args = [args[2], *args[:2], *args[3:]]
    return parse(args[1:]) if args[:1] == [command] else None


def opened(store: str | None) -> ReadOnlyDatabase | None:
    """None: it is on a server."""
    path, _ = location.locate(store)
    return None if "://" in path else ReadOnlyDatabase(locate(location.require(path)))


def is_count(text: str, most: int) -> bool:
    """Python refuses to read a number of thousands of digits, so they are counted first."""
    return text.isascii() and text.isdigit() and len(text) <= len(str(most)) and 1 <= int(text) <= most
