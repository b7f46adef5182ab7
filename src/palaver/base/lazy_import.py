"""Modules that are imported when they are first used: who only reads starts without what only writers need."""

from __future__ import annotations

from errno import EMFILE, ENFILE

from ..errors import TooManyFiles

TYPE_CHECKING = False  # typing's own would cost its import
if TYPE_CHECKING:
    from typing import Any


class _Standin:
    """Stands where a module will be. The first name that is asked of it imports the module, which takes its place."""

    def __init__(self, namespace: dict[str, Any], name: str) -> None:
        self._namespace, self._name = namespace, name

    def __getattr__(self, attribute: str) -> Any:
        from importlib import import_module

        try:
            module = import_module(self._name, "palaver")
        except OSError as error:
            if error.errno in (EMFILE, ENFILE):
                raise TooManyFiles(self._name) from None
            raise
        self._namespace[self._name.rpartition(".")[2]] = module
        return getattr(module, attribute)


def later(namespace: dict[str, Any], *names: str) -> None:
    """As `import json` and `from .core.verbs import commit`, when needed; a name with a dot in front is ours."""
    for name in names:
        namespace[name.rpartition(".")[2]] = _Standin(namespace, name)
