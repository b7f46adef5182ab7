"""A plain `palaver ls`, at once: the list straight from its index, before click or the rest of Palaver is loaded.

Only the simplest command lines are taken here; every other, and every mistake, goes the long way.
"""

from __future__ import annotations

from palaver.db.queries import Q
from palaver.db.sqlite.filesystem import locate
from palaver.db.sqlite.readonly import ReadOnlyDatabase

from . import location
from .ui.listing import Listed, print_list
from .ui.screen import Screen, say_aside

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from typing import Any

_VALUES = {"-s": "store", "--store": "store", "-n": "limit", "--limit": "limit", "--agent": "agent"}
_FLAGS = {"-a": "archived", "--all": "archived"}
_MOST = 10_000


def run(args: list[str]) -> int | None:
    """Answer a plain `ls`; None if it is anything else."""
    if len(args) > 2 and args[0] in ("-s", "--store"):  # the option of the whole program
        args = [args[2], *args[:2], *args[3:]]
    wanted = _parse(args[1:]) if args[:1] == ["ls"] else None
    if wanted is None:
        return None
    path, _ = location.locate(wanted["store"])
    if "://" in path:
        return None
    rows = _read(location.require(path), wanted)
    limit = int(wanted["limit"])
    print_list(Screen(), [_listed(row) for row in rows[:limit]], more=len(rows) > limit)
    return 0


def _parse(words: list[str]) -> dict[str, Any] | None:
    wanted: dict[str, Any] = {"store": None, "limit": "50", "agent": None, "archived": False}
    rest = iter(words)
    for word in rest:
        value = next(rest, None) if word in _VALUES else None
        if word in _FLAGS:
            wanted[_FLAGS[word]] = True
        elif value:
            wanted[_VALUES[word]] = value
        else:
            return None
    return wanted if _is_count(wanted["limit"]) else None


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and 1 <= int(text) <= _MOST


def _read(path: str, wanted: dict[str, Any]) -> list[tuple[Any, ...]]:
    query = Q.list_recent if wanted["agent"] is None else Q.list_by_agent
    given = {"agent": wanted["agent"], "workspace": None, "archived": int(wanted["archived"])}
    db = ReadOnlyDatabase(locate(path))
    for note in db.notes:
        say_aside(note, json=False)
    try:
        with db.read() as tx:
            return tx.all(query, **given, limit=int(wanted["limit"]) + 1, before_at=tx.far, before_id="")
    finally:
        db.close()


def _listed(row: tuple[Any, ...]) -> Listed:
    """A row of the view `session_rows`."""
    session_id, agent, _, _, title, preview, _, _, relation, _, _, depth, *_, updated_at, archived_at, _, _, _, _ = row
    updated_at = updated_at if type(updated_at) is int else 0  # another program may have written anything
    label = title or preview or ""
    return Listed(session_id, updated_at, depth or 0, agent, label, archived_at is not None, relation or "import")
