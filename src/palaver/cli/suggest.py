"""What a shell may complete: the sessions that a word on the command line may become.

A title is offered only if it is one plain word: whatever a shell is given may end up on its command line. Every session
is offered by id, with its title beside it where the shell shows such things.
"""

from __future__ import annotations

import os
import re
from typing import Any

import click
from click.shell_completion import CompletionItem

from palaver import PalaverError, SessionInfo, Store
from palaver.base import address

from . import location
from .exits import Stop
from .ui import sanitize
from .ui.format import short

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}", re.ASCII)
_MOST = 200
_LABEL = 60  # columns


def sessions(ctx: click.Context, incomplete: str) -> list[CompletionItem[Any]]:
    """What `incomplete` may become. Whatever goes wrong, a shell is offered nothing rather than an error."""
    given, root = ctx.params, ctx.find_root().params
    try:
        url, space = location.locate(given.get("store") or root.get("store"), given.get("space") or root.get("space"))
        if not address.is_server(url) and not os.path.isfile(url):
            return []
        with location.open_store(url, space, create=False, readonly=True, timeout=1.0) as store:
            return _offers(store, incomplete)
    except (PalaverError, Stop):
        return []


def _offers(store: Store, incomplete: str) -> list[CompletionItem[Any]]:
    found = [CompletionItem("@", help="the latest session")] if incomplete in ("", "@") else []
    for info in store.sessions.list(limit=_MOST, archived=True).sessions:
        label = sanitize.shorten(sanitize.visible(info.title or info.preview or info.agent), _LABEL)
        found += [CompletionItem(name, help=label) for name in _named(store, info) if name.startswith(incomplete)]
    return found


def _named(store: Store, info: SessionInfo) -> list[str]:
    """The names of a session that a shell may be given."""
    aliases = [name for _, name in store.sessions.get(info.id).aliases()]
    named = [info.id, info.id.removeprefix("ses_"), short(info.id), *aliases, info.title or ""]
    return [name for name in dict.fromkeys(named) if _PLAIN.fullmatch(name)]
