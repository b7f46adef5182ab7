"""What every group of the suite stands on: a store, a session in it, and a second handle where the engine has one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import ClassVar

import pytest

from palaver import Session, Store, StoreClosed

from .helpers import OpenStore


class Group:
    """An engine says how to open a store by a fixture `open_store`: `open_store(**options) -> Store`.

    Called again it opens the same place once more, also after a close, if `shared`; an engine that cannot do that
    (memory) says `shared = False`, and the tests that need a second handle are skipped.
    """

    shared: ClassVar[bool] = True

    @pytest.fixture
    def open_store(self) -> OpenStore:
        raise NotImplementedError("the engine's test class says how to open a store, as a fixture `open_store`")

    @pytest.fixture
    def store(self, open_store: OpenStore) -> Iterator[Store]:
        """A store; when the test is over and it is still open, `verify` must find nothing in it."""
        store = open_store()
        yield store
        with suppress(StoreClosed):
            assert store.verify() == []

    @pytest.fixture
    def session(self, store: Store) -> Session:
        return store.sessions.create(agent="coder")

    @pytest.fixture
    def second(self, store: Store, open_store: OpenStore) -> Store:
        """Another handle to the place of `store`."""
        self.needs_a_shared_place()
        return open_store()

    @pytest.fixture
    def reopen(self, open_store: OpenStore) -> Callable[[Store], Store]:
        """Close a store and open its place again."""
        self.needs_a_shared_place()

        def again(store: Store) -> Store:
            store.close()
            return open_store()

        return again

    def needs_a_shared_place(self) -> None:
        if not self.shared:
            pytest.skip("a place of this engine is gone when its store is closed, and has one handle")
