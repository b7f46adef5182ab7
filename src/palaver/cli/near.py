"""What a name that fits nothing may have meant: sessions and commands with a name near it.

Loaded when a name is unknown, and not before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from palaver import BadValue, SessionInfo, SessionNotFound, Store

from . import resolve
from .ui.format import short

_RECENT, _NAMED = 200, 50  # sessions whose titles, and whose aliases, too, are looked at
_LONGEST = 100  # characters of a name that is compared
_ALIKE = 0.65

# What people of other programs type, and what it is called here.
HABITS = {
    **dict.fromkeys(("list", "dir", "sessions", "logs"), "ls"),
    **dict.fromkeys(("cat", "view", "read", "open", "print"), "show"),
    **dict.fromkeys(("find", "grep", "rg", "ag", "lookup"), "search"),
    **dict.fromkeys(("delete", "del", "remove", "trash", "prune", "expire"), "rm"),
    **dict.fromkeys(("rename", "mv", "name"), "title"),
    **dict.fromkeys(("tag", "label"), "alias"),
    **dict.fromkeys(("history", "reflog"), "log"),
    **dict.fromkeys(("graph", "branches"), "tree"),
    **dict.fromkeys(("ancestors", "descendants", "family", "parents", "children"), "lineage"),
    **dict.fromkeys(("branch", "clone"), "fork"),
    **dict.fromkeys(("checkout", "switch", "reset", "goto"), "rewind"),
    "revert": "undo",
    **dict.fromkeys(("follow", "watch", "attach"), "tail"),
    **dict.fromkeys(("send", "enqueue", "say"), "queue"),
    **dict.fromkeys(("yes", "accept", "allow"), "approve"),
    **dict.fromkeys(("no", "reject", "refuse"), "deny"),
    **dict.fromkeys(("kill", "abort", "halt", "interrupt", "cancel"), "stop"),
    **dict.fromkeys(("close", "finish"), "end"),
    **dict.fromkeys(("permissions", "rules"), "permit"),
    **dict.fromkeys(("summarise", "summarize"), "compact"),
    **dict.fromkeys(("fsck", "check", "validate"), "verify"),
    "index": "reindex",
    **dict.fromkeys(("status", "info"), "doctor"),
    **dict.fromkeys(("dump", "save"), "export"),
    **dict.fromkeys(("load", "restore"), "import"),
    **dict.fromkeys(("backup", "cp", "push", "pull"), "copy"),
    **dict.fromkeys(("query", "select", "db"), "sql"),
    **dict.fromkeys(("schema", "tenant"), "space"),
    "materialize": "materialise",
}
HELP = ("help", "usage", "man", "?")


def unknown_command(name: str, known: Iterable[str]) -> str:
    if name.lower() in HELP:
        return f"there is no command {name!r}; `palaver COMMAND --help` explains one"
    known = list(known)
    meant = [HABITS[name.lower()]] if name.lower() in HABITS else []
    meant = [one for one in meant if one in known] or _close(name, known)
    guess = f"; did you mean {' or '.join(f'`palaver {one}`' for one in meant[:2])}?" if meant else ""
    return f"there is no command {name!r}{guess}"


# ---------------------------------------------------------------- sessions


def unknown_session(store: Store, name: str) -> str:
    if name == resolve.LATEST:
        return _nothing_there(store)
    unknown = f"no session is named {name!r}"
    place = resolve.place_of(name)
    if place is not None and (place.name == resolve.LATEST or resolve.match(store, place.name)):
        return f"{name!r} is a place in a session, and here a whole one is wanted; `palaver fork` makes one of a place"
    gone = resolve.match(store, name, deleted=True)
    if gone:
        return f"{unknown}; it was deleted: {listed(gone)} (`palaver rm --undo` brings it back)"
    newest = _newest_of_lineage(store, name)
    if newest is not None:
        return f"{unknown}; the newest of its lineage is {listed([newest])}"
    recent = store.sessions.list(limit=_RECENT, archived=True).sessions
    near = _near(store, name, recent)
    if near:
        return f"{unknown}; did you mean {_shown(near)}?"
    return f"{unknown}; " + (f"the latest: {listed(recent[:3])}" if recent else "the store is empty")


def _newest_of_lineage(store: Store, name: str) -> SessionInfo | None:
    """If only "X #2", "X #3" … are there, "X" may mean the last of them; but nobody guesses what is to be deleted."""
    try:
        return store.sessions.by_title(name).info
    except (SessionNotFound, BadValue):
        return None


def _nothing_there(store: Store) -> str:
    """Nothing is the latest."""
    if store.sessions.list(limit=1, archived=True).sessions:
        return "every session in this store is archived; `palaver ls --all` has them"
    if store.sessions.list(limit=1, deleted=True).sessions:
        return "every session in this store was deleted; `palaver rm --list` has them"
    return "there is no session in this store yet"


Named = tuple[str, SessionInfo]  # a session by one of its names


def _near(store: Store, name: str, recent: list[SessionInfo]) -> list[Named]:
    """Sessions with the name inside one of theirs; failing these, with a name that is alike. And by which name."""
    by_name: dict[str, list[Named]] = {}
    for place, info in enumerate(recent):
        for one in _names(store, info, with_aliases=place < _NAMED):
            by_name.setdefault(one.lower(), []).append((one, info))
    inside = [one for one in by_name if len(name) > 2 and name.lower() in one]
    found: dict[str, Named] = {}
    for one in inside or _close(name.lower(), by_name):
        for known_as, info in by_name[one]:
            found.setdefault(info.id, (known_as, info))
    return list(found.values())


def _names(store: Store, info: SessionInfo, *, with_aliases: bool) -> Iterator[str]:
    yield from filter(None, (info.title, info.app_id, short(info.id), info.id, info.id.removeprefix("ses_")))
    if with_aliases:
        yield from (name for _, name in store.sessions.get(info.id).aliases())


def _close(name: str, names: Iterable[str]) -> list[str]:
    if not 1 < len(name) <= _LONGEST:
        return []
    return get_close_matches(name, [one for one in names if len(one) <= _LONGEST], n=5, cutoff=_ALIKE)


def listed(found: Iterable[SessionInfo]) -> str:
    return _shown([(one.id, one) for one in found])


def _shown(found: list[Named]) -> str:
    shown = [f"{one.id} ({_label(one)})" + _known_as(name, one) for name, one in found[:5]]
    return ", ".join(shown) + (", …" if len(found) > len(shown) else "")


def _known_as(name: str, info: SessionInfo) -> str:
    """The name that was meant, where neither its id nor its title says it."""
    return "" if name in info.id or name == info.title else f" known as {_cut(name)!r}"


def _label(info: SessionInfo) -> str:
    return _cut(info.title or info.preview or info.agent)


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
