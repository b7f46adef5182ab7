"""`palaver title` and `palaver alias`: what a session is called. Two may have one title; an alias is of one."""

from __future__ import annotations

from typing import NoReturn

import click

from palaver import Session, SessionNotFound, Store

from .. import resolve
from ..command import Call, command, session_argument
from ..exits import UNKNOWN, USAGE, Stop
from ..ui.columns import aligned
from ..ui.format import short
from ..ui.screen import say_aside

_DEFAULT = "alias"  # the namespace of an alias that names none
_IS_A_PLACE = "{} is the latest session or a place in one, always; choose another name"


@command(
    "title",
    examples=[
        "palaver title @",
        "palaver title @ 'Fix the build'",
        "palaver title @ --next",
        "palaver title 9fK2xQ --clear",
    ],
    keys={"session": "its id", "title": "its title now, or null"},
)
@session_argument()
@click.argument("text", required=False)
@click.option("--next", "counting", is_flag=True, help="The next title of its lineage: 'X #2' after 'X'.")
@click.option("--clear", is_flag=True, help="Take the title away; the first words stand for it then.")
def title(call: Call, session: str, text: str | None, counting: bool, clear: bool) -> None:
    """Print a session's title, or set it.

    Without TEXT it is printed. Two sessions may have the same title; to name one for good, give it an alias.

    'X', 'X #2', 'X #3' … are a lineage of titles. --next sets the one after the highest there is: of TEXT, else of the
    title the session has, else of the nearest session it came from that has one. Deleted sessions do not count."""
    if clear and (text is not None or counting):
        _refuse("give it a title or clear it, not both")
    if text is not None:
        check_title(call, text, "an empty title is no title: --clear takes it away")
    store, found = call.session(session, readonly=text is None and not clear and not counting)
    if text is None and not clear and not counting:
        _print_title(call, found)
        return
    text = store.sessions.next_title(text or _known_title(store, found)) if counting else text
    found.title = text
    said = f"{short(found.id)} has no title now" if clear else f"{short(found.id)} is called '{text}' now"
    call.done({"session": found.id, "title": text}, said)


def check_title(call: Call, text: str, empty: str) -> None:
    """A title that is a place cannot be used as a name. One that only may be is told of."""
    if not text.strip():
        _refuse(empty)
    place = resolve.place_of(text)
    if text == resolve.LATEST or (place is not None and place.name == resolve.LATEST):
        _refuse(_IS_A_PLACE.format(text))
    if place is not None:
        said = f"where {place.name!r} names a session, {text!r} is a place in it, and not this title"
        say_aside(said, json=call.json)


def _known_title(store: Store, session: Session) -> str:
    """Its own, else that of the nearest session it came from."""
    for each in (session.id, *session.ancestors()):
        try:
            known = store.sessions.get(each, deleted=True).title
        except SessionNotFound:  # erased; what came from it still tells of it
            continue
        if known:
            return known
    _refuse("neither it nor a session it came from has a title; give the one to count up as TEXT")


def _print_title(call: Call, session: Session) -> None:
    """The title and nothing else: a script may ask for it."""
    now = session.title
    if call.json or now is not None:
        call.done({"session": session.id, "title": now}, now or "")
    else:
        call.screen.hint("no title")


@command(
    "alias",
    examples=[
        "palaver alias @",
        "palaver alias @ the-build",
        "palaver alias 9fK2xQ T-17 --namespace ticket",
        "palaver alias @ the-build --remove",
    ],
    keys={
        "session": "its id",
        "aliases[]": "what names it now, with:",
        "  namespace": "alias, unless it was said otherwise",
        "  name": "unique in its namespace",
    },
)
@session_argument()
@click.argument("name", required=False)
@click.option("--namespace", metavar="TEXT", help="Whose names these are; the same name may be in several.")
@click.option("--remove", is_flag=True, help="Take the alias away.")
def alias(call: Call, session: str, name: str | None, namespace: str | None, remove: bool) -> None:
    """List a session's aliases, or add or remove one.

    An alias names one session, in its namespace; commands take it wherever a session is named. Without NAME they are
    listed."""
    if name is None and remove:
        _refuse("say which alias to remove")
    if name is not None and not remove and (name == resolve.LATEST or resolve.place_of(name) is not None):
        _refuse(_IS_A_PLACE.format(name))
    if namespace is not None and not namespace.strip():
        _refuse("an empty namespace is none: leave --namespace out, or name one")
    _, found = call.session(session, readonly=name is None)
    if name is not None and remove:
        _remove(found, name, _DEFAULT if namespace is None else namespace)
    elif name is not None:
        found.alias(name, _DEFAULT if namespace is None else namespace)
    _list(call, found, namespace if name is None else None)


def _remove(session: Session, name: str, namespace: str) -> None:
    try:
        session.unalias(name, namespace)
    except SessionNotFound:
        where = short(session.id)
        said = f"{name!r} is no {namespace} of session {where}; `palaver alias {where}` lists what is"
        raise Stop(UNKNOWN, said, "NoAlias") from None


def _list(call: Call, session: Session, namespace: str | None) -> None:
    listed = [(space, name) for space, name in session.aliases() if namespace in (None, space)]
    if call.json:
        called = [{"namespace": space, "name": name} for space, name in listed]
        call.screen.json({"session": session.id, "aliases": called})
        return
    shown = [(call.screen.sanitized(space), call.screen.sanitized(name)) for space, name in listed]
    for line in aligned(shown):
        call.screen.say(line)
    if not listed:
        call.screen.hint("no aliases")


def _refuse(sentence: str) -> NoReturn:
    raise Stop(USAGE, sentence, "Usage")
