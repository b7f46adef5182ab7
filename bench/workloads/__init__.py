"""What is measured. Each module has the lab's side, `run(lab)`, and the blocks that a column's process does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import (
    append,
    cold,
    counts,
    engine,
    facts,
    fork,
    graft,
    hermes,
    listing,
    load,
    paced,
    postgres,
    search,
    search_postgres,
    sizes,
    storm,
    stream,
    streams,
    turn,
)

if TYPE_CHECKING:
    from ..lab import Lab

MODULES = (
    append,
    turn,
    stream,
    engine,
    paced,
    load,
    listing,
    facts,
    fork,
    graft,
    hermes,
    storm,
    streams,
    cold,
    counts,
    sizes,
    search,
    postgres,
    search_postgres,
)
ALL: dict[str, Callable[[Lab], None]] = {module.__name__.rpartition(".")[2]: module.run for module in MODULES}
