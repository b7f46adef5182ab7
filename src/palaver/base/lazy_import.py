"""Rooms whose modules are imported when they are first asked for: who only reads starts without what only writers need.

A package says `__getattr__ = on_demand(__name__)`; then `verbs.begin` is the module `begin` in it. The module becomes
the package's own attribute, so this is asked once.
"""

from __future__ import annotations

import sys
from errno import EMFILE, ENFILE

from ..errors import TooManyFiles

TYPE_CHECKING = False  # typing's own would cost its import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

_NONE: Mapping[str, str] = {}


def on_demand(room: str, elsewhere: Mapping[str, str] = _NONE) -> Callable[[str], ModuleType]:
    """The `__getattr__` of a package. `elsewhere`: modules of other rooms that are reached through it, too."""

    def __getattr__(name: str) -> ModuleType:
        from importlib import import_module

        if name.startswith("_"):
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        wanted = elsewhere.get(name, f"{room}.{name}")
        try:
            module = import_module(wanted)
        except ModuleNotFoundError as error:
            if error.name != wanted:  # a package that the module needs is missing
                raise
            raise AttributeError(f"module {room!r} has no attribute {name!r}") from error
        except OSError as error:
            if error.errno in (EMFILE, ENFILE):
                raise TooManyFiles(name) from None
            raise
        setattr(sys.modules[room], name, module)
        return module

    return __getattr__
