"""Shell completion: the script for a shell, and the sessions that a word on the command line may become.

A title is offered only if it is one plain word: whatever a shell is given may end up on its command line. Every session
is offered by id, with its title beside it where the shell shows such things.
"""

from __future__ import annotations

import os
import re
from typing import Any

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from palaver import PalaverError, SessionInfo, Store
from palaver.base import address

from .. import location
from ..command import Call, command
from ..exits import Stop
from ..ui import sanitize
from ..ui.format import short

SHELLS = ("bash", "zsh", "fish")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}", re.ASCII)
_MOST = 200
_WORDS = 60


@command(
    "completion",
    examples=['eval "$(palaver completion bash)"', "palaver completion fish > ~/.config/fish/completions/palaver.fish"],
    keys={"shell": "bash, zsh or fish", "script": "what the shell must evaluate"},
    store=False,
)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(call: Call, shell: str) -> None:
    """Print the completion script of a shell.

    It completes commands, options, and sessions by id, title and alias."""
    root = click.get_current_context().find_root().command
    made = get_completion_class(shell)
    assert made
    maker = made(root, {}, "palaver", "_PALAVER_COMPLETE")
    script = ShellComplete.source(maker)  # bash's own would first run bash, to look at its version
    if call.json:
        call.screen.json({"shell": shell, "script": script})
    else:
        call.screen.out.write(script)


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
        words = sanitize.shorten(sanitize.visible(info.title or info.preview or info.agent), _WORDS)
        found += [CompletionItem(name, help=words) for name in _named(store, info) if name.startswith(incomplete)]
    return found


def _named(store: Store, info: SessionInfo) -> list[str]:
    """The names of a session that a shell may be given."""
    aliases = [name for _, name in store.sessions.get(info.id).aliases()]
    named = [info.id, info.id.removeprefix("ses_"), short(info.id), *aliases, info.title or ""]
    return [name for name in dict.fromkeys(named) if _PLAIN.fullmatch(name)]
