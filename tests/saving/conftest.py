"""A disk that does as it is told, turns in stores that are closed afterwards, the break that the environment names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import palaver

from ..tools.planting import plant_from_environment
from .disk import Disk
from .support import NEVER, Begin

plant_from_environment()


@pytest.fixture
def disk() -> Iterator[Disk]:
    made = Disk()
    yield made
    made.full = False
    made.unregister()


@pytest.fixture
def begin(path: str) -> Iterator[Begin]:
    """A session with an open turn, in a store of its own over `path`."""
    with ExitStack() as stores:

        def make(save_on: str = "turn", **options: Any) -> tuple[palaver.Session, palaver.Turn]:
            store = stores.enter_context(palaver.open(path, save_on=save_on, **{"trim_after": NEVER, **options}))
            session = store.sessions.create("a")
            return session, session.turn("hello")

        yield make
