"""One rich store for the whole folder, read only; and an empty store to import into."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import palaver

from . import rich
from .support import export


class Source:
    """The rich store, the ids of its sessions by what they show, and its export."""

    def __init__(self, store: palaver.Store, ids: dict[str, str]) -> None:
        self.store = store
        self.ids = ids
        self.data = export(store)

    def messages(self, name: str) -> str:
        return self.store.sessions.get(self.ids[name]).messages_json()


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    store = palaver.open(tmp_path_factory.mktemp("rich") / "rich.db", trim_after=3600)
    ids = rich.fill(store)
    with store:
        yield Source(store, ids)


@pytest.fixture
def target(tmp_path: Path) -> Iterator[palaver.Store]:
    with palaver.open(tmp_path / "target.db", trim_after=3600) as opened:
        yield opened


@pytest.fixture
def quick() -> Iterator[palaver.Store]:
    """An empty store in memory, where the file does not matter."""
    with palaver.open(":memory:", trim_after=3600) as opened:
        yield opened


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Any]:
    """Opens stores by name, and closes them all."""
    opened: dict[str, palaver.Store] = {}

    def get(name: str) -> palaver.Store:
        if name not in opened:
            opened[name] = palaver.open(tmp_path / f"{name}.db", trim_after=3600)
        return opened[name]

    yield get
    for store in opened.values():
        store.close()
