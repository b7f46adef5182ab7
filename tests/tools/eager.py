"""All of the library, loaded at once: for a process that forks, whose children would each load what is loaded lazily.

After a bug was planted, never before: a module that is loaded holds on to the functions that it imported.
"""

from __future__ import annotations

import gc
import pkgutil
from importlib import import_module

import palaver

APART = tuple(  # what a short life in a file has no use for
    f"palaver.{name}" for name in ("__main__", "aio", "awaited", "cli", "db.postgres", "exports", "formats", "testing")
)


def load_everything() -> None:
    for found in pkgutil.walk_packages(palaver.__path__, "palaver."):
        if not found.name.startswith(APART):
            import_module(found.name)
    gc.freeze()  # a child that collects garbage leaves these pages alone, and so need not copy them
