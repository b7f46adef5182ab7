"""A plain `palaver ls`, at once: the list straight from its index, before click or the rest of Palaver is loaded.

Only the simplest command lines are taken here; every other, and every mistake, goes the long way.
"""

from __future__ import annotations

import re

from palaver.db.queries import Q

from . import fast
from .ui.listing import Listed, print_list
from .ui.screen import Screen, say_aside

TYPE_CHECKING = False  # typing's own would cost its import, and `palaver ls` starts without it
if TYPE_CHECKING:
    from typing import Any

    from palaver.db.sqlite.readonly import ReadOnlyDatabase

_VALUES = {"-s": "store", "--store": "store", "-n": "limit", "--limit": "limit", "--agent": "agent"}
_FLAGS = {"-a": "archived", "--all": "archived", "--waiting": "waiting"}
_MOST = 10_000
_PLAIN_MODEL = re.compile(r'\{"provider_id":"[^"\\]*","model_id":"(?P<name>[^"\\]*)"(?:,"variant":"[^"\\]*")?\}')


def run(args: list[str]) -> int | None:
    """Answer a plain `ls`; None if it is anything else."""
    wanted = fast.asked(args, "ls", _parse)
    db = fast.opened(wanted["store"]) if wanted else None
    if wanted is None or db is None:
        return None
    rows = _read(db, wanted)
    limit = int(wanted["limit"])
    print_list(Screen(), [_listed(row) for row in rows[:limit]], more=len(rows) > limit)
    return 0


def _parse(words: list[str]) -> dict[str, Any] | None:
    wanted: dict[str, Any] = {"store": None, "limit": "50", "agent": None, "archived": False, "waiting": False}
    rest = iter(words)
    for word in rest:
        value = next(rest, None) if word in _VALUES else None
        if word in _FLAGS:
            wanted[_FLAGS[word]] = True
        elif value:
            wanted[_VALUES[word]] = value
        else:
            return None
    return wanted if fast.is_count(wanted["limit"], _MOST) else None


def _read(db: ReadOnlyDatabase, wanted: dict[str, Any]) -> list[tuple[Any, ...]]:
    query = Q.list_recent if wanted["agent"] is None else Q.list_by_agent
    given = {"agent": wanted["agent"], "workspace": None, "ended": 0, "idle_since": None}
    given |= {name: int(wanted[name]) for name in ("archived", "waiting")}
    for note in db.notes:
        say_aside(note, json=False)
    try:
        with db.read() as tx:
            return tx.all(query, **given, limit=int(wanted["limit"]) + 1, before_at=tx.far, before_id="")
    finally:
        db.close()


def _listed(row: tuple[Any, ...]) -> Listed:
    """A row of the view `session_rows`, and the marks of a list, in the order of `rows.SessionRow`."""
    # fmt: off
    (
        session_id, agent, _, model, title, preview, _, _, relation, _, _, depth, _,
        _, _, _, _, _, tokens, cost, _, _, updated_at, archived_at, _,
        _, _, _, app_id, open_turns,
    ) = row
    # fmt: on
    return Listed(
        session_id,
        updated_at if type(updated_at) is int else 0,  # another program may have written anything
        depth or 0,
        agent,
        title or preview or "",
        archived=archived_at is not None,
        relation=relation or "import",
        app_id=app_id,
        model=_model(model),
        tokens=tokens,
        cost=cost,
        waiting=(open_turns or "").count("waiting"),
        live=(open_turns or "").count("streaming"),
    )


def _model(text: Any) -> str:
    """The name of a model, as it is mostly written; for any other way JSON has to be loaded."""
    plain = _PLAIN_MODEL.fullmatch(text) if isinstance(text, str) else None
    if plain or not text or text == "{}":
        return plain["name"] if plain else ""
    from palaver.core import damage

    from .ui.facts import model_id

    return model_id(damage.parsed(text))
