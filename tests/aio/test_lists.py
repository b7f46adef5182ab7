"""Lists of sessions: a page if they are awaited, all of them with `async for`, and the event loop goes on meanwhile."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from palaver import aio
from palaver.sessions import Sessions

from .support import run


async def make(store: aio.AsyncStore, count: int) -> list[str]:
    """Ids, newest first."""
    made = [(await store.sessions.create("coder", title=str(n))).id for n in range(count)]
    await store.sessions.create("other")
    return made[::-1]


def test_a_list_is_gone_through_to_its_end(path: str) -> None:
    async def look() -> None:
        async with await aio.open(path) as store:
            made = await make(store, 5)
            wanted = store.sessions.list(agent="coder", order="created", limit=2)
            assert [info.id async for info in wanted] == made
            assert [info.id async for info in wanted] == made, "again from its beginning"

    run(look())


def test_an_awaited_list_is_a_page_and_goes_on_from_there(path: str) -> None:
    async def look() -> None:
        async with await aio.open(path) as store:
            made = await make(store, 5)
            first = await store.sessions.list(agent="coder", order="created", limit=2)
            assert [info.id for info in first.sessions] == made[:2] and first.next is not None
            second = await store.sessions.list(agent="coder", order="created", limit=2, after=first.next)
            assert [info.id for info in second.sessions] == made[2:4]
            assert [info.id async for info in first] == made
            assert [info.id async for info in second] == made[2:]

    run(look())


def test_a_session_is_given_as_the_parent(path: str) -> None:
    async def look() -> None:
        async with await aio.open(path) as store:
            parent = await store.sessions.create("coder")
            child = await store.sessions.create("helper", parent=parent)
            assert [info.id async for info in store.sessions.list(parent=parent)] == [child.id]

    run(look())


def test_no_page_is_read_in_the_thread_of_the_event_loop(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    readers: set[threading.Thread] = set()
    real = Sessions.list

    def noted(self: Sessions, **wanted: Any) -> Any:
        readers.add(threading.current_thread())
        return real(self, **wanted)

    async def look() -> None:
        async with await aio.open(path) as store:
            await make(store, 3)
            monkeypatch.setattr(Sessions, "list", noted)
            assert len([info async for info in store.sessions.list(limit=1)]) == 4
            assert len([info async for info in store.sessions]) == 4
            assert readers and threading.current_thread() not in readers

    run(look())


def test_a_misspelt_filter_is_named(path: str) -> None:
    async def look() -> None:
        async with await aio.open(path) as store:
            with pytest.raises(TypeError, match="agnt"):
                await store.sessions.list(agnt="coder")
            with pytest.raises(TypeError, match="agnt"):
                _ = [info async for info in store.sessions.list(agnt="coder")]

    run(look())
