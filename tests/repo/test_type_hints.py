"""`typing.get_type_hints` answers for everything that is public, also in a process that has used nothing of it yet."""

from __future__ import annotations

import importlib
import inspect
import typing
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

MODULES = ["palaver", "palaver.aio", "palaver.exports", "palaver.keywords", "palaver.permissions", "palaver.recording"]
MODULES += ["palaver.testing"]


def public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    names = getattr(module, "__all__", None) or [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    return ((f"{module.__name__}.{name}", getattr(module, name)) for name in names)


def callables(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A function, or a class with its methods and properties, `__init__` and the like too."""
    if inspect.isclass(value):
        yield name, value
        for member, found in vars(value).items():
            for function in functions_of(found):
                if not member.startswith("_") or member.endswith("__"):
                    yield f"{name}.{member}", function
    elif callable(value) and hasattr(value, "__annotations__"):
        yield name, value


def functions_of(member: Any) -> list[Callable[..., Any]]:
    if isinstance(member, property):
        return [each for each in (member.fget, member.fset) if each is not None]
    member = getattr(member, "__func__", member)
    return [member] if inspect.isfunction(member) else []


def unresolved(name: str) -> dict[str, str]:
    """What of a module cannot be resolved, and why."""
    found = {}
    for each, value in public(importlib.import_module(name)):
        for full, function in callables(each, value):
            try:
                typing.get_type_hints(function)
            except Exception as error:
                found[full] = repr(error)
    return found


@pytest.mark.parametrize("module", MODULES)
def test_every_public_callable_can_be_asked_for_its_types(module: str) -> None:
    assert unresolved(module) == {}
