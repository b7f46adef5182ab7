"""Every public callable, found by looking: its name, and the names of what it takes.

`**given` stands for names that a TypedDict of `palaver.keywords` knows, so a verb or an option that is added later is
called with hostile values from that day on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple, get_args, get_type_hints

import palaver
from palaver import aio, exports, permissions, recording
from palaver.keywords import PostgresKeywords
from palaver.session_rules import SessionRules

NOUNS: dict[str, type] = {
    "Store": palaver.Store,
    "Sessions": palaver.Sessions,
    "Session": palaver.Session,
    "Moment": palaver.Moment,
    "Turn": palaver.Turn,
    "ToolCall": palaver.ToolCall,
    "SessionRules": SessionRules,
    "Recording": recording.Recording,
}
MODULES: dict[str, ModuleType] = {
    "palaver": palaver,
    "permissions": permissions,
    "recording": recording,
    "aio": aio,
    "exports": exports,
}
INSIDE = {"Store": {"db", "path"}}  # for the layers above, not for users
SPECIAL = {
    "Sessions": ("__iter__",),
    "Recording": ("__iter__",),
    "Turn": ("__enter__", "__exit__"),
    "Store": ("__enter__",),
}

_OTHERS = {"SessionRules.add": ("source", "added_at", "note")}  # fields that a rule may have besides


class Verb(NamedTuple):
    """A callable, a property or a setter."""

    noun: str
    name: str
    kind: str  # method, property, setter or function
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    function: Callable[..., Any] | None = None

    @property
    def full(self) -> str:
        return f"{self.noun}.{self.name}"


def catalogue() -> list[Verb]:
    return [verb for noun, kind in NOUNS.items() for verb in _of_class(noun, kind)] + [
        verb for noun, module in MODULES.items() for verb in _of_module(noun, module)
    ]


def _of_class(noun: str, kind: type) -> Iterator[Verb]:
    for name, found in vars(kind).items():
        if name in SPECIAL.get(noun, ()) or not (name.startswith("_") or name in INSIDE.get(noun, ())):
            if isinstance(found, property):
                yield Verb(noun, name, "property")
                if found.fset is not None:
                    yield Verb(noun, name, "setter", ("value",))
            elif inspect.isfunction(found):
                yield _with_names(noun, name, "method", found, skip=1)


def _of_module(noun: str, module: ModuleType) -> Iterator[Verb]:
    """The functions that a module offers: by its `__all__`, or those that are written in it."""
    for name in getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")]):
        found = getattr(module, name)
        if inspect.isfunction(found) and (hasattr(module, "__all__") or found.__module__ == module.__name__):
            yield _with_names(noun, name, "function", found, skip=0)


def _with_names(noun: str, name: str, kind: str, function: Callable[..., Any], skip: int) -> Verb:
    required, optional = [], []
    for each in list(inspect.signature(function).parameters.values())[skip:]:
        if each.kind is each.VAR_KEYWORD:
            optional += _OTHERS.get(f"{noun}.{name}") or keywords_of(function, each.name)
        elif each.kind is not each.VAR_POSITIONAL:
            (required if each.default is each.empty else optional).append(each.name)
    return Verb(noun, name, kind, tuple(required), tuple(optional), function)


def keywords_of(function: Callable[..., Any], name: str) -> list[str]:
    """The names that `**name` stands for; those of a server are none for a file."""
    (family,) = get_args(get_type_hints(function)[name])
    return [each for each in family.__annotations__ if each not in PostgresKeywords.__annotations__]
