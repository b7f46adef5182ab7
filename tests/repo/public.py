"""Everything that is public: what a module names in `__all__`, and the methods and properties of the classes there."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

MODULES = [
    "palaver",
    "palaver.aio",
    "palaver.exports",
    "palaver.keywords",
    "palaver.permissions",
    "palaver.recording",
    "palaver.testing",
]


def callables_of(module: str) -> Iterator[tuple[str, Any]]:
    """Each by its full name: functions, classes, and what a class has; `__init__` and the like, too."""
    found = importlib.import_module(module)
    for name in names_of(found):
        yield from callables(f"{module}.{name}", getattr(found, name))


def names_of(module: ModuleType) -> list[str]:
    written = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    return getattr(module, "__all__", None) or [name for name in written if not name.startswith("_")]


def callables(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if inspect.isclass(value):
        yield name, value
        for member, found in vars(value).items():
            if not member.startswith("_") or member.endswith("__"):
                yield from ((f"{name}.{member}", function) for function in functions_of(found))
    elif inspect.isfunction(value):
        yield name, value


def functions_of(member: Any) -> list[Callable[..., Any]]:
    if isinstance(member, property):
        return [each for each in (member.fget, member.fset) if each is not None]
    member = getattr(member, "__func__", member)
    return [member] if inspect.isfunction(member) else []
