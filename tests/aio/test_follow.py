"""Following a session as an async iterator: everything, in order, however many follow, and until it is cancelled."""

from __future__ import annotations

import asyncio

import pytest

import palaver
from palaver import aio

from .support import run, words


async def collect(session: aio.AsyncSession, count: int, after: int | None = None) -> list[int]:
    seen: list[int] = []
    async for event in await session.follow(after):
        seen.append(event.seq)
        if len(seen) == count:
            break
    return seen


def test_a_follower_sees_every_event_once_in_order(path: str) -> None:
    async def follow() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            follower = asyncio.ensure_future(collect(session, 30, after=0))
            async with await session.turn("hi") as turn:
                for chunk in words(30):
                    await turn.write(chunk)
            seen = await follower
            assert seen == [event.seq for event in await session.events(0)][:30]

    run(follow())


def test_more_followers_than_threads_do_not_keep_a_writer_waiting(path: str) -> None:
    async def follow() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            followers = [asyncio.ensure_future(collect(session, 3)) for _ in range(70)]
            await asyncio.sleep(0.05)
            async with await session.turn("hi") as turn:
                for chunk in words(10):
                    await turn.write(chunk)
            seen = await asyncio.gather(*followers)
            assert all(events == seen[0] for events in seen) and len(seen[0]) == 3

    run(follow())


def test_a_follower_that_is_cancelled_while_it_waits_is_cancelled(path: str) -> None:
    async def follow() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            follower = asyncio.ensure_future(collect(session, 1))
            await asyncio.sleep(0.05)
            follower.cancel()
            with pytest.raises(asyncio.CancelledError):
                await follower
            assert await session.messages() == []

    run(follow())


def test_it_ends_when_nothing_came_for_so_long(path: str) -> None:
    async def follow() -> int:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            await session.commit("hi")
            return len([event async for event in await session.follow(after=0, timeout=0.05)])

    assert run(follow()) > 0


def test_what_a_plain_store_writes_is_seen(path: str) -> None:
    async def follow() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            follower = asyncio.ensure_future(collect(session, 1))
            await asyncio.sleep(0.02)
            with palaver.open(path) as plain:
                plain.sessions.get(session.id).commit("from elsewhere")
            assert len(await follower) == 1

    run(follow())
