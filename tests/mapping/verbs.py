"""The verbs that the page names, and whether the library has them: `session.turn`, or `session.turn(role=)` for one of
its arguments."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Any, NamedTuple

import palaver
from palaver import keywords
from palaver.sessions import Sessions

HANDLES: dict[str, Any] = {
    "palaver": palaver,
    "store": palaver.Store,
    "sessions": Sessions,
    "session": palaver.Session,
    "session.permissions": palaver.SessionRules,
    "turn": palaver.Turn,
}
_CALL = re.compile(r"((?:\w+\.)+)(\w+)(?:\((\w+)=\))?")
_OPTIONS = re.compile(r"Unpack\[(\w+)\]")

_FACTS = (
    *("source", "user", "account", "project", "workspace_id", "persona", "routing_key", "task", "version"),
    *("provider", "policy"),
)

# Verbs and arguments that are on their way. The page names them; each is tried as soon as the library has it.
COMING = {
    "session.update", "session.update(workspace=)", "session.update(model=)", "sessions.create(relation=)",
    *(f"{verb}({name}=)" for verb in ("sessions.create", "session.update") for name in _FACTS),
    "sessions.turn_of", "session.parts",
}  # fmt: skip


class Call(NamedTuple):
    noun: str
    name: str
    keyword: str | None = None

    def __str__(self) -> str:
        return f"{self.verb}({self.keyword}=)" if self.keyword else self.verb

    @property
    def verb(self) -> str:
        return f"{self.noun}.{self.name}"


def parse(text: str) -> Call | None:
    found = _CALL.fullmatch(text)
    return Call(found[1].removesuffix("."), found[2], found[3]) if found else None


@cache
def is_there(call: Call) -> bool:
    """Whether the library has this verb, and the verb this argument."""
    if call.name not in names_of(call.noun):
        return False
    return call.keyword is None or call.keyword in arguments_of(getattr(HANDLES[call.noun], call.name))


def is_known(call: Call) -> bool:
    return is_there(call) or str(call) in COMING


@cache
def names_of(noun: str) -> set[str]:
    """The public names of a handle, those that it sets on itself too."""
    handle = HANDLES.get(noun)
    if handle is None:
        return set()
    own = () if inspect.ismodule(handle) else re.findall(r"self\.(\w+)", inspect.getsource(handle))
    return {name for name in (*dir(handle), *own) if not name.startswith("_")}


def arguments_of(verb: Any) -> set[str]:
    """The names of the arguments that it takes, those of its family of options too."""
    names = set()
    for parameter in inspect.signature(verb).parameters.values():
        options = _OPTIONS.fullmatch(str(parameter.annotation))
        names |= set(getattr(keywords, options[1]).__annotations__) if options else {parameter.name}
    return names
