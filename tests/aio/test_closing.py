"""The end: nothing is left behind, neither a thread nor a task nor a store, whatever was going on."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

import palaver
from palaver import aio
from palaver import opening as library
from palaver.errors import StoreClosed, TurnSealed

from ..tools.chunks import delta
from ..tools.sql import query
from .support import START, answer, flow, ours, run, said, status, until, words


async def nothing_left() -> None:
    await until(lambda: not ours(), f"no thread is left but {ours()}")
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_no_thread_and_no_task_is_left_behind(path: str) -> None:
    async def talk() -> None:
        before = threading.active_count()
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            for n in range(3):
                await (await aio.record(session, f"q{n}", flow(words(20)))).wait()
            async for _ in await session.follow(after=0, timeout=0.0):
                pass
            await asyncio.gather(*(session.messages() for _ in range(40)))
        await nothing_left()
        assert threading.active_count() <= before

    asyncio.run(talk())


def test_a_store_that_is_closed_while_others_wait_leaves_nothing(path: str) -> None:
    async def talk() -> None:
        store = await aio.open(path)
        session = await store.sessions.create("coder")
        followers = [asyncio.ensure_future(drain(session)) for _ in range(5)]
        await asyncio.sleep(0.05)
        await store.close()
        for follower in followers:
            follower.cancel()
        await asyncio.wait(followers)
        await nothing_left()

    asyncio.run(talk())


async def drain(session: aio.AsyncSession) -> None:
    async for _ in await session.follow():
        pass


def test_close_comes_to_an_end_although_others_go_on_writing(path: str) -> None:
    async def chatter(session: aio.AsyncSession) -> int:
        turn, count = await session.turn("go"), 0
        await turn.append(START)
        try:
            while True:
                await turn.write(delta(f"{count},"))
                count += 1
        except (StoreClosed, TurnSealed):
            return count

    async def talk() -> list[tuple[str, int]]:
        store = await aio.open(path)
        sessions = [await store.sessions.create("coder") for _ in range(8)]
        writers = [asyncio.ensure_future(chatter(s)) for s in sessions]
        await asyncio.sleep(0.1)
        await asyncio.wait_for(store.close(), 10)
        counts = await asyncio.gather(*writers)
        return list(zip([s.id for s in sessions], counts, strict=True))

    written = run(talk())
    with palaver.open(path) as store:
        for session, count in written:
            assert store.sessions.get(session).messages()[-1]["parts"][-1]["text"] == said(count)


def test_two_who_close_at_once_both_get_there(path: str) -> None:
    async def talk() -> None:
        store = await aio.open(path)
        turn = await (await store.sessions.create("coder")).turn("hi")
        await turn.append(START)
        write = asyncio.ensure_future(turn.write(delta("x")))
        await asyncio.sleep(0)
        await asyncio.gather(store.close(), store.close(), store.close())
        await write

    run(talk())


def test_a_close_that_is_cancelled_closes(path: str) -> None:
    async def talk() -> str:
        store = await aio.open(path)
        turn = await (await store.sessions.create("coder")).turn("hi")
        await turn.append([*START, delta("so far")])
        closing = asyncio.ensure_future(store.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait([closing])
        await until(lambda: not ours(), "the store is closed")
        await store.close()
        return str(turn.id)

    turn = run(talk())
    assert (status(path, turn), answer(path, turn)) == ("aborted", "so far")


def test_an_open_that_is_cancelled_leaves_no_open_store(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[palaver.Store] = []
    really = library.open

    def slowly(*given: object, **named: object) -> palaver.Store:
        time.sleep(0.1)
        opened.append(really(*given, **named))  # type: ignore[arg-type]
        return opened[0]

    monkeypatch.setattr(library, "open", slowly)

    async def talk() -> None:
        opening = asyncio.ensure_future(aio.open(path))
        await asyncio.sleep(0.02)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        await until(lambda: opened and not ours(), "it is closed again")
        await until(lambda: opened[0]._is_closed, "it is closed again")

    run(talk())


def test_a_turn_whose_begin_was_cancelled_is_not_left_open(path: str) -> None:
    async def talk() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            for _ in range(5):
                beginning = asyncio.ensure_future(session.turn("hi"))
                await asyncio.sleep(0)
                beginning.cancel()
                await asyncio.wait([beginning])
            ended = "SELECT count(*) FROM turns WHERE status = 'aborted'"
            await until(lambda: query(path, ended) == [(5,)], "each of them is ended")
            await (await session.turn("now")).seal()
            assert (await session.messages())[-1]["parts"][0]["text"] == "now"

    run(talk())


def test_a_store_of_asyncio_and_a_plain_one_get_along(path: str) -> None:
    async def talk() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            with palaver.open(path) as plain:
                await session.commit("one")
                plain.sessions.get(session.id).commit("two")
            assert [m["parts"][0]["text"] for m in await session.messages()] == ["one", "two"]

    run(talk())
