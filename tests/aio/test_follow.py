"""Following a session as an async iterator: everything, in order, however many follow, and until it is cancelled."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import palaver
from palaver import aio
from palaver.db.sqlite.engine import SqliteDatabase
from palaver.db.sqlite.watch import Watch

from .support import run, until, words


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
            start = await session.cursor()  # for one that gets to run only after the turn has begun
            followers = [asyncio.ensure_future(collect(session, 3, start)) for _ in range(70)]
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


def test_a_hundred_idle_followers_share_one_watch_and_read_nothing(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()
    for owner, name in ((SqliteDatabase, "watch"), (SqliteDatabase, "read"), (Watch, "_version")):
        monkeypatch.setattr(owner, name, counting(calls, getattr(owner, name), path))

    async def follow() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            followers = [asyncio.ensure_future(collect(session, 1)) for _ in range(100)]
            await until(lambda: len(store._inner._background.watcher._followers) == 100, "all of them wait")
            looks = calls["_version"]
            await until(lambda: calls["_version"] >= looks + 20, "each has looked once more")
            reads, looks = calls["read"], calls["_version"]
            await until(lambda: calls["_version"] >= looks + 20, "the watcher looks again and again")
            assert calls["read"] == reads
            await session.set("title", "news")
            assert len(await asyncio.gather(*followers)) == 100
            assert calls["watch"] == 1

    run(follow())


def counting(calls: Counter[str], work: Callable[[Any], Any], path: str) -> Callable[[Any], Any]:
    """Stores of other tests may still look after their turns: they are elsewhere."""

    def counted(self: Any) -> Any:
        calls[work.__name__] += getattr(self, "name", path) == path
        return work(self)

    return counted


def test_a_follower_that_is_cancelled_or_left_is_forgotten(path: str) -> None:
    async def follow() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            watcher = store._inner._background.watcher
            waiting = asyncio.ensure_future(collect(session, 1))
            await until(lambda: len(watcher._followers) == 1, "it waits")
            waiting.cancel()
            await asyncio.wait([waiting])
            assert not watcher._followers
            assert await collect(session, 1, after=0) and not watcher._followers

    run(follow())


def test_close_ends_every_follower(path: str) -> None:
    async def follow() -> None:
        store = await aio.open(path)
        session = await store.sessions.create("coder")
        followers = [asyncio.ensure_future(collect(session, 1)) for _ in range(40)]
        await until(lambda: len(store._inner._background.watcher._followers) == 40, "they wait")
        await store.close()
        ended = await asyncio.gather(*followers, return_exceptions=True)
        assert {type(each) for each in ended} == {palaver.StoreClosed}

    run(follow())


def test_following_needs_no_await_before_it(path: str) -> None:
    async def follow() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            await session.commit("hi")
            direct = [event.seq async for event in session.follow(after=0, timeout=0)]
            awaited = [event.seq async for event in await session.follow(after=0, timeout=0)]
            assert direct == awaited == [event.seq for event in await session.events(0)] != []

    run(follow())


def test_what_was_awaited_begins_there_and_what_was_not_begins_with_its_first_step(path: str) -> None:
    async def follow() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            awaited, direct = await session.follow(timeout=0), session.follow(timeout=0)
            await session.commit("hi")
            assert [event async for event in awaited] != []
            assert [event async for event in direct] == []

    run(follow())


def test_a_follower_can_be_left_and_taken_up_again_and_is_closed_at_once(path: str) -> None:
    async def follow() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            watcher = store._inner._background.watcher
            await session.commit("hi")
            following = session.follow(after=0)
            async for event in following:
                first = event.seq
                break
            assert (await anext(following)).seq == first + 1
            waiting = asyncio.ensure_future(collect_rest(following))
            await until(lambda: len(watcher._followers) == 1, "it waits")
            await session.set("title", "news")
            await until(waiting.done, "it was told")
            await following.aclose()
            assert not watcher._followers
            assert [event async for event in following] == []

    run(follow())


async def collect_rest(following: aio.Following) -> None:
    """Until there is something about the title."""
    async for event in following:
        if event.kind == "title":
            return


@pytest.mark.parametrize("wrong", [{"after": "1"}, {"after": -1}, {"timeout": "soon"}])
def test_a_wrong_cursor_is_refused_where_it_is_given(path: str, wrong: dict[str, Any]) -> None:
    async def follow() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            with pytest.raises(palaver.BadValue):
                session.follow(**wrong)

    run(follow())
