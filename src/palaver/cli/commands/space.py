"""`palaver space`: the spaces of a Postgres database. The work is `palaver.spaces`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

import palaver
from palaver import SpaceInfo, Spaces
from palaver.base import address

from .. import patience
from ..asking import ask
from ..command import Call, command
from ..exits import OK, PROBLEMS, USAGE, Stop
from ..ui.format import age, count

_NAMES = {"ls": 0, "create": 1, "drop": 1, "copy": 2, "migrate": 0}  # how many each takes


@command(
    "space",
    examples=[
        "palaver space ls postgresql://db.example/talks",
        "PALAVER_STORE=postgresql://db.example/talks palaver space ls",
        "palaver space create $URL acme",
        "palaver space copy $URL acme acme-before",
        "palaver space drop $URL acme-before",
        "palaver space migrate $URL",
    ],
    keys={
        "spaces[]": "the spaces it is about: all there are, those that were made, dropped or migrated; with:",
        "  name": "what it is called here",
        "  schema": "what it is called on the server",
        "  version": "the version of its tables",
        "  before": "the version that it had before (migrate), else the same",
        "  created_at": "epoch ms",
        "  problem": "why it was not migrated, or null",
    },
    store=False,
    unused=("space",),
)
@click.argument("action", metavar=f"{{{'|'.join(_NAMES)}}}", type=click.Choice(list(_NAMES)), required=False)
@click.argument("words", metavar="[URL] [NAME] [NEW]", nargs=-1)
@click.option("-y", "--yes", is_flag=True, help="Do not ask before dropping.")
def space(call: Call, action: str | None, words: tuple[str, ...], yes: bool) -> int:
    """List, make, drop, copy or migrate the spaces of a Postgres database.

    Without URL, those of the server that PALAVER_STORE names. drop takes everything in the space away, for good, and
    asks first; migrate brings each space to this version, one transaction each, and goes on where it was stopped. Exit
    code 1 if a space could not be migrated."""
    if action is None:
        *most, last = _NAMES
        raise Stop(USAGE, f"say what to do with spaces: {', '.join(most)} or {last}", "Usage")
    url, names = _which(call, action, words)
    spaces = palaver.spaces(url)
    with patience.telling(url, json=call.json):
        known = spaces.list()
    if action == "ls":
        return _ls(call, known)
    if action == "drop":
        [name] = names
        return _drop(call, spaces, name, [one for one in known if one.name == name], yes)
    return _ACTIONS[action](call, spaces, *names)


def _which(call: Call, action: str, words: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The database, and the names. An address may be left out: then it is the one that every command takes."""
    wanted = _NAMES[action]
    if len(words) > wanted or (words and address.is_server(words[0])):
        url, *names = words
        if len(names) != wanted:
            raise Stop(USAGE, f"space {action} takes {count(wanted, 'name')} behind the address", "Usage")
        _, space = address.split(url) if address.is_server(url) else (url, None)
        if space is not None:
            raise Stop(USAGE, "leave the #space out of the address: this is about all of them", "Usage")
        if click.get_current_context().find_root().params.get("store") is not None:
            raise Stop(USAGE, "name the database once: by --store, or behind the command", "Usage")
        return url, tuple(names)
    if len(words) < wanted:
        raise Stop(USAGE, f"space {action} takes {count(wanted, 'name')}", "Usage")
    url, _ = call.where
    return url, words


def _value(one: SpaceInfo, before: int | None = None, problem: str | None = None) -> dict[str, Any]:
    return {
        "name": one.name,
        "schema": one.schema,
        "version": one.version,
        "before": one.version if before is None else before,
        "created_at": one.created_at,
        "problem": problem,
    }


def _ls(call: Call, found: list[SpaceInfo]) -> int:
    if call.json:
        call.screen.json({"spaces": [_value(one) for one in found]})
        return OK
    widest = max((len(one.name) for one in found), default=0)
    if not found:
        call.screen.hint("no spaces; `palaver space create` makes one")
    for one in found:
        call.screen.line(
            (one.name.ljust(widest), "yellow"), (f" {age(one.created_at):>4}", "dim"), f" {one.schema} {one.version}"
        )
    return OK


def _create(call: Call, spaces: Spaces, name: str) -> int:
    made = spaces.create(name)
    call.done({"spaces": [_value(made)]}, f"made {made.name} (schema {made.schema})")
    return OK


def _copy(call: Call, spaces: Spaces, name: str, new: str) -> int:
    made = spaces.copy(name, new)
    call.done({"spaces": [_value(made)]}, f"copied {name} to {made.name} (schema {made.schema})")
    return OK


def _drop(call: Call, spaces: Spaces, name: str, found: list[SpaceInfo], yes: bool) -> int:
    if found and not yes:
        _ask(call, found[0])
    spaces.drop(name)
    call.done({"spaces": [_value(one) for one in found]}, f"dropped {name}")
    return OK


def _ask(call: Call, one: SpaceInfo) -> None:
    if call.json or not sys.stdin.isatty():
        raise Stop(USAGE, f"dropping {one.name} takes everything in it away, for good: say --yes", "Usage")
    ask(f"Drop {one.name}, made {age(one.created_at)} ago, and everything in it?", otherwise="nothing was dropped")


def _migrate(call: Call, spaces: Spaces) -> int:
    done = spaces.migrate()
    there = {one.name: one for one in spaces.list()}
    value = [_value(there[one.name], one.before, one.problem) for one in done if one.name in there]
    for one in () if call.json else done:
        said = f"stays at version {one.before}: {one.problem}" if one.problem else f"version {one.before} → {one.after}"
        call.screen.say(call.screen.sanitized(f"{one.name}: {said}"))
    stuck = sum(one.problem is not None for one in done)
    left = f", {stuck:,} could not be" if stuck else ""
    call.done({"spaces": value}, f"migrated {count(len(done) - stuck, 'space')} of {len(there):,}{left}")
    return PROBLEMS if stuck else OK


_ACTIONS: dict[str, Callable[..., int]] = {"create": _create, "copy": _copy, "migrate": _migrate}
