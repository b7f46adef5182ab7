"""What a shell may complete: the sessions that a word on the command line may become, and the calls that wait in one.

Names are offered as they are; quoting them is the shell's work, or its script's (see `shells`). What a person could not
see, or what would be taken for an option, is not offered.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

from palaver import PalaverError, SessionInfo, Store
from palaver.base import address

from . import location, resolve
from .exits import Stop
from .ui import sanitize
from .ui.format import short

Offers = list[CompletionItem[Any]]
_MOST = 200
_LABEL = 60  # columns
_LONGEST = 100  # characters of a name


def sessions(ctx: click.Context, incomplete: str) -> Offers:
    return _asking(ctx, lambda store: _sessions(store, incomplete))


def calls(ctx: click.Context, incomplete: str) -> Offers:
    """The calls that wait, in the session that was named."""
    return _asking(ctx, lambda store: _calls(store, str(ctx.params.get("session") or resolve.LATEST), incomplete))


def _asking(ctx: click.Context, ask: Callable[[Store], Offers]) -> Offers:
    """Whatever goes wrong, a shell is offered nothing rather than an error."""
    given, root = ctx.params, ctx.find_root().params
    try:
        url, space = location.locate(given.get("store") or root.get("store"), given.get("space") or root.get("space"))
        if not address.is_server(url) and not os.path.isfile(url):
            return []
        with location.open_store(url, space, create=False, readonly=True, timeout=1.0) as store:
            return ask(store)
    except (PalaverError, Stop):
        return []


def _sessions(store: Store, incomplete: str) -> Offers:
    found = [CompletionItem("@", help="the latest session")] if incomplete in ("", "@") else []
    for info in store.sessions.list(limit=_MOST, archived=True).sessions:
        label = _label(info.title or info.preview or info.agent)
        found += [CompletionItem(name, help=label) for name in _named(store, info, incomplete)]
    return found


def _named(store: Store, info: SessionInfo, incomplete: str) -> list[str]:
    """The names of a session that a word may become; of its id the shortest piece that it can become."""
    aliases = [name for _, name in store.sessions.get(info.id).aliases()]
    pieces = (short(info.id), info.id.removeprefix("ses_"), info.id)
    by_id = [piece for piece in pieces if piece.startswith(incomplete)][:1]
    named = dict.fromkeys([*by_id, info.app_id or "", *aliases, info.title or ""])
    return [name for name in named if name.startswith(incomplete) and _may_be_offered(name)]


def _calls(store: Store, name: str, incomplete: str) -> Offers:
    from .commands.approvals import asked

    found = asked(resolve.session(store, name))
    return [
        CompletionItem(one.call_id, help=_label(str(one)))
        for one in found
        if one.call_id.startswith(incomplete) and _may_be_offered(one.call_id)
    ]


def _may_be_offered(name: str) -> bool:
    return 0 < len(name) <= _LONGEST and not name.startswith("-") and sanitize.visible(name) == name


def _label(text: str) -> str:
    return sanitize.shorten(sanitize.visible(text), _LABEL)
