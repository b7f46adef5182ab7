"""Generated cases: a verb is given a value of the row's own, which must then be at the row's home.

One function for each verb. It does nothing but what it takes to call the verb with one argument, on a store in which
nothing else happens to this row's session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import palaver

from . import marks
from .homes import Home
from .page import Row
from .verbs import Call

Giver = Callable[["Gift"], Any]
GIVERS: dict[str, Giver] = {}


class Gift(NamedTuple):
    """One value for one home. A giver calls the verb, and answers what must now be there."""

    store: palaver.Store
    row: Row
    home: Home
    call: Call
    value: Any

    def session(self) -> palaver.Session:
        return self.store.sessions.create("some agent")

    def argument(self) -> tuple[dict[str, Any], Any]:
        """The argument by its name, and what must be found."""
        given, found = marks.shaped(self.call, self.home, self.value)
        return ({} if self.call.keyword is None else {self.call.keyword: given}), found


def giver(verb: str) -> Callable[[Giver], Giver]:
    def keep(function: Giver) -> Giver:
        GIVERS[verb] = function
        return function

    return keep


# ---------------------------------------------------------------- a store and its sessions


@giver("store.put_foreign_id")
def put_foreign_id(gift: Gift) -> Any:
    given, found = gift.argument()
    about = {"origin": "some origin", "foreign_id": f"some {gift.row.key}", "ours": gift.session().id, "scope": "some"}
    gift.store.put_foreign_id(**{**about, **dict([gift.home.where] if gift.home.where else []), **given})
    return found


@giver("sessions.create")
def create(gift: Gift) -> Any:
    given, found = gift.argument()
    parent = gift.session() if gift.call.keyword == "tool_call_id" else None
    gift.store.sessions.create(parent=parent, **given)
    return found


@giver("session.update")
def update(gift: Gift) -> Any:
    given, found = gift.argument()
    session: Any = gift.session()  # a verb that is on its way
    session.update(**given)
    return found


@giver("session.update_metadata")
def update_metadata(gift: Gift) -> Any:
    given, found = marks.nested(gift.home.pointer or "/some key", gift.value), gift.value
    gift.session().update_metadata(given)
    return found if gift.home.pointer else given


@giver("session.title")
def title(gift: Gift) -> Any:
    gift.session().title = gift.value
    return gift.value


@giver("session.alias")
def alias(gift: Gift) -> Any:
    given, found = gift.argument()
    session = gift.session()
    turn = session.commit("some text").id if gift.home.where == ("namespace", "thread_key") else None
    namespace = gift.home.where[1] if gift.home.where else "alias"
    session.alias(**{"name": f"some {gift.value}", "namespace": namespace, "turn": turn, **given})
    return found


@giver("session.end")
def end(gift: Gift) -> Any:
    given, found = gift.argument()
    gift.session().end(**given)
    return found


@giver("session.permissions.add")
def permit(gift: Gift) -> Any:
    given, found = gift.argument()
    gift.session().permissions.add(**{"permission": "some", "pattern": f"some {gift.row.key}", **given})
    return found


@giver("session.add_usage")
def add_usage(gift: Gift) -> Any:
    given, found = gift.argument()
    gift.session().add_usage(**{"told": {"input": 1}, **given})
    return found


@giver("session.compact")
def compact(gift: Gift) -> Any:
    given, found = gift.argument()
    session = gift.session()
    session.commit("some text")
    session.compact(**{"summary": "some summary", **given})
    return found


# ---------------------------------------------------------------- turns


@giver("session.commit")
def commit(gift: Gift) -> Any:
    if gift.call.keyword is None:
        message, found = marks.message(gift.row, gift.home, gift.value)
        gift.session().commit([message])
        return found
    given, found = gift.argument()
    gift.session().commit(["some question", {"role": "assistant", "content": "some answer"}], **given)
    return found


@giver("session.turn")
def turn(gift: Gift) -> Any:
    message: Any = "some question"
    given, found = gift.argument()
    if gift.call.keyword is None:
        message, found = marks.message(gift.row, gift.home, gift.value)
    with gift.session().turn(message, **given) as began:
        began.text("some answer")
    return found


@giver("turn.write")
def write(gift: Gift) -> Any:
    with gift.session().turn("some question") as began:
        began.write({"type": "finish", "finishReason": gift.value})
    return gift.value


@giver("turn.usage")
def usage(gift: Gift) -> Any:
    given, found = gift.argument()
    with gift.session().turn("some question") as began:
        began.usage(**({"input": 1} | given))
    return found


@giver("turn.fail")
def fail(gift: Gift) -> Any:
    given, found = gift.argument()
    gift.session().turn("some question").fail(**{"message": "some error", **given})
    return found


@giver("turn.used")
def used(gift: Gift) -> Any:
    given, found = gift.argument()
    with gift.session().turn("some question") as began:
        began.used(**given)
    return found
