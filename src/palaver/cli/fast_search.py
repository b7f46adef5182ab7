"""A plain `palaver search` of a file, at once: what is looked for and how it is shown, before click or the handles of
Palaver are loaded.

Only plain command lines are taken here; every other, every mistake, and a store whose index lacks much, goes the long
way (`commands/search.py`).
"""

from __future__ import annotations

from palaver.core.read import sessions
from palaver.core.search import finding, sums

from . import fast
from .exits import OK, PROBLEMS
from .ui.hits import MOST, Drawn, print_page
from .ui.screen import Screen, say_aside

TYPE_CHECKING = False  # typing's own would cost its import
if TYPE_CHECKING:
    from typing import Any

    from palaver import SearchPage, SessionInfo
    from palaver.db.sqlite.readonly import ReadOnlyDatabase

_VALUES = {"-s": "store", "--store": "store", "-n": "limit", "--limit": "limit", "--after": "after"}
_FLAGS = {
    **{"-a": "archived", "--all": "archived", "--hidden": "hidden", "--per-session": "per_session"},
    **{"--newest": "newest", "--no-context": "no_context", "--no-pager": "no_pager"},
}


def run(args: list[str]) -> int | None:
    """Answer a plain `search`; None if it is anything else."""
    wanted = fast.asked(args, "search", _parse)
    db = fast.opened(wanted.get("store")) if wanted else None
    if wanted is None or db is None:
        return None
    try:
        page, infos = _look(db, wanted)
    finally:
        db.close()
    if page.indexed_through is not None:
        return None
    for note in db.notes:
        say_aside(note, json=False)
    print_page(Drawn(Screen(), infos, context="no_context" not in wanted), page, pager="no_pager" not in wanted)
    return OK if page.hits else PROBLEMS


def _parse(words: list[str]) -> dict[str, Any] | None:
    wanted: dict[str, Any] = {"limit": "20"}
    query: list[str] = []
    rest = iter(words)
    for word in rest:
        value = next(rest, None) if word in _VALUES else None
        if word in _FLAGS:
            wanted[_FLAGS[word]] = True
        elif value:
            wanted[_VALUES[word]] = value
        elif word == "--":
            query += rest
        elif word.startswith("-") or word in _VALUES:
            return None
        else:
            query.append(word)
    wanted["query"] = " ".join(query)
    return wanted if wanted["query"].strip() and fast.is_count(wanted["limit"], MOST) else None


def _look(db: ReadOnlyDatabase, wanted: dict[str, Any]) -> tuple[SearchPage, dict[str, SessionInfo]]:
    flags = {name: name in wanted for name in ("per_session", "archived", "hidden")}
    order = "newest" if "newest" in wanted else "rank"
    asked = finding.Wanted.of(wanted["query"], order, int(wanted["limit"]), **flags)
    with db.read() as tx:
        page = finding.page(tx, asked, wanted.get("after"), sums.Checks())
        return page, {one: sessions.info(tx, one) for one in {hit.session_id for hit in page.hits}}
