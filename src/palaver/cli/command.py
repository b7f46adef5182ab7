"""What every command has: `--json`, `--store`, an example in its help, and documented keys of its JSON.

A command's function gets a `Call` first: it opens the store, finds sessions, and knows where to print.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import click

from palaver import Session, Store

from . import location, patience, resolve
from .exits import USAGE, Stop
from .ui.screen import Screen, say_aside

Keys = dict[str, str]


class Count(click.IntRange):
    """A whole number within bounds; what is none is told so in a sentence."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            bounds = f" to {self.max:,}" if self.max is not None else " on"
            self.fail(f"it takes a whole number from {self.min:,}{bounds}, not {value!r}", param, ctx)


class Call:
    """One run of a command."""

    def __init__(self, store: str | None, space: str | None, json: bool) -> None:
        self._given = store
        self._space = space
        self.json = json
        self.screen = Screen()

    @property
    def where(self) -> tuple[str, str | None]:
        """The store's address, and its space if it has several."""
        root = click.get_current_context().find_root().params
        store = root.get("store") if self._given is None else self._given
        return location.locate(store, root.get("space") if self._space is None else self._space)

    def store(self, *, create: bool = False, readonly: bool = False) -> Store:
        """Open the store until the command ends."""
        return self.open(*self.where, create=create, readonly=readonly)

    def open(self, url: str, space: str | None, *, create: bool = False, **options: Any) -> Store:
        """Any store, until the command ends."""
        with patience.telling(url, json=self.json):
            opened = location.open_store(url, space, create=create, **options)
        for note in opened.notes:
            say_aside(note, json=self.json)
        return click.get_current_context().with_resource(opened)

    def session(self, name: str, *, readonly: bool = False) -> tuple[Store, Session]:
        store = self.store(readonly=readonly)
        return store, resolve.session(store, name)

    def done(self, value: dict[str, Any], sentence: str) -> None:
        """The answer of a command that changed something."""
        if self.json:
            self.screen.json(value)
        else:
            self.screen.say(self.screen.sanitized(sentence))


class Command(click.Command):
    """A command that shows how it is used."""

    def __init__(self, *args: Any, examples: list[str], keys: Keys, **rest: Any) -> None:
        super().__init__(*args, **rest)
        self.examples = examples
        self.keys = keys

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Example" if len(self.examples) == 1 else "Examples"):
            for example in self.examples:
                formatter.write(f"{'':>{formatter.current_indent}}{example}\n")


def command(
    name: str, *, examples: list[str], keys: Keys, store: bool = True, unused: tuple[str, ...] = ("store", "space")
) -> Callable[[Callable[..., int | None]], Command]:
    """Make a command of a function. `keys` documents what `--json` prints. Where it takes no `store`, the options of
    the whole program that are `unused` are refused: whoever gives one means something by it."""

    takes_store = store

    def make(work: Callable[..., int | None]) -> Command:
        @functools.wraps(work)
        def run(json: bool, store: str | None = None, space: str | None = None, **given: Any) -> int | None:
            _refuse(name, () if takes_store else unused)
            return work(Call(store, space, json), **given)

        made = click.command(name, cls=Command, examples=examples, keys=keys)(run)
        made.params += [_STORE, _SPACE, _JSON] if store else [_JSON]
        return made

    return make


def _refuse(command: str, unused: tuple[str, ...]) -> None:
    given = click.get_current_context().find_root().params
    for one in unused:
        if given.get(one) is not None:
            raise Stop(USAGE, f"{command} does not use --{one}; leave it out", "Usage")


_JSON = click.Option(["--json"], is_flag=True, help="Print JSON for programs; docs/cli.md has its keys.")
_SPACE = click.Option(["--space"], metavar="NAME", help="The space on a Postgres server; else PALAVER_SPACE.")
_STORE = click.Option(["-s", "--store"], metavar="URL", help="The store; else PALAVER_STORE, PALAVER_HOME, ~/.palaver.")


if TYPE_CHECKING:
    _ParamType = click.ParamType[str]
else:
    _ParamType = click.ParamType


class SessionName(_ParamType):
    """A session as a person names it; shells complete it."""

    name = "session"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from .suggest import sessions  # a command that runs completes nothing

        return sessions(ctx, incomplete)


class Fact(click.ParamType):  # type: ignore[type-arg]
    """A fact of a session, as a name and a value."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        name, mark, said = str(value).partition("=")
        if not (name and mark and said):
            self.fail(f"a fact is asked for by name=value, not {value!r}", param, ctx)
        return name, said


class Age(click.ParamType):  # type: ignore[type-arg]
    """How long ago: 90d, 12h, 2w; in milliseconds."""

    name = "age"
    _UNITS: ClassVar = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number, unit = str(value)[:-1], str(value)[-1:]
        if not (number.isascii() and number.isdigit() and len(number) <= 6 and int(number) and unit in self._UNITS):
            self.fail(f"it takes a whole number from 1 on with s, m, h, d or w, like 90d, not {value!r}", param, ctx)
        return int(number) * int(self._UNITS[unit])


class CallName(_ParamType):
    """A tool call that waits for an answer, in the session that was named before it."""

    name = "call"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from .suggest import calls

        return calls(ctx, incomplete)


def session_argument(**rest: Any) -> Callable[[Any], Any]:
    return click.argument("session", type=SessionName(), **rest)
