"""Cancelling takes away the one who waits, never the work: what was begun is done, once, in its order."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Coroutine
from typing import Any

import apsw
import pytest

import palaver
from palaver import aio

from ..tools.chunks import delta
from ..tools.sql import query
from .support import END, START, answer, run, said, status, until, words


async def begin_and_cancel(work: Coroutine[Any, Any, Any]) -> None:
    """Let it begin, then cancel it at once."""
    task = asyncio.ensure_future(work)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_cancelled_write_is_stored_once_and_in_order(path: str) -> None:
    async def storm() -> str:
        async with await aio.open(path) as store:
            turn = await (await store.sessions.create("coder")).turn("hi")
            await turn.append(START)
            for n in range(60):
                await begin_and_cancel(turn.write(delta(f"{n},")))
            await turn.append(END)
            await turn.seal()
            return str(turn.id)

    assert answer(path, run(storm())) == said(60)


def test_thirty_two_streams_in_a_storm_of_cancellations(path: str) -> None:
    """Every chunk whose write began is there, once, in its order; most of them were cancelled."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)

    async def stream(session: aio.Async, number: int) -> str:
        async with await session.turn(f"question {number}") as turn:
            await turn.append(START)
            for n in range(25):
                write = asyncio.ensure_future(turn.write(delta(f"{n},")))
                await asyncio.sleep(chance.choice([0, 0, 0.001]))
                if chance.random() < 0.7:
                    write.cancel()
                elif chance.random() < 0.5:
                    await write
            await turn.append(END)
        return str(turn.id)

    async def storm() -> list[str]:
        async with await aio.open(path) as store:
            sessions = [await store.sessions.create("coder") for _ in range(32)]
            turns = await asyncio.gather(*(stream(s, n) for n, s in enumerate(sessions)))
            assert not await store.verify()
            return turns

    turns = run(storm())
    assert len(set(turns)) == 32
    assert [answer(path, turn) for turn in turns] == [said(25)] * 32
    assert query(path, "SELECT count(*) FROM chat_messages") == [(64,)]


def test_writes_that_are_cancelled_all_at_once_are_stored_before_the_store_closes(path: str) -> None:
    async def storm() -> str:
        store = await aio.open(path)
        turn = await (await store.sessions.create("coder")).turn("hi")
        await turn.append(START)
        writes = [asyncio.ensure_future(turn.write(delta(f"{n},"))) for n in range(20)]
        await asyncio.sleep(0)
        for write in writes:
            write.cancel()
        await store.close()
        return str(turn.id)

    assert answer(path, run(storm())) == said(20)


def test_a_cancelled_seal_seals(path: str) -> None:
    async def cancel() -> str:
        async with await aio.open(path) as store:
            turn = await (await store.sessions.create("coder")).turn("hi")
            await turn.append(words(2))
            await begin_and_cancel(turn.seal())
            assert await turn.status == "completed"
            return str(turn.id)

    assert status(path, run(cancel())) == "completed"


def test_cancelled_usage_is_counted_once(path: str) -> None:
    async def cancel() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            async with await session.turn("hi") as turn:
                for _ in range(10):
                    await begin_and_cancel(turn.usage(input=1, output=2))
            assert (await session.info).usage == palaver.Usage(input=10, output=20)

    run(cancel())
    assert query(path, "SELECT prompt_tokens, completion_tokens FROM chat_sessions") == [(10, 20)]


def test_cancelled_commits_are_each_on_the_path_once(path: str) -> None:
    async def cancel() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            for n in range(8):
                await begin_and_cancel(session.commit(f"message {n}"))
            await until(lambda: query(path, "SELECT count(*) FROM chat_messages") == [(8,)], "eight messages")
            shown = [m["parts"][0]["text"] for m in await session.messages()]
            assert sorted(shown) == [f"message {n}" for n in range(8)]

    run(cancel())


def test_a_cancelled_leave_still_seals(path: str) -> None:
    async def cancel() -> str:
        async with await aio.open(path) as store:
            turn = await (await store.sessions.create("coder")).turn("hi")
            await turn.append(words(2))
            await begin_and_cancel(turn.__aexit__(None, None, None))
            assert await turn.status == "completed"
            return str(turn.id)

    assert answer(path, run(cancel())) == said(2)


def test_an_error_of_a_call_that_nobody_awaits_any_more_stops_nothing(path: str) -> None:
    shouted: list[Any] = []

    async def cancel() -> str:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: shouted.append(context))
        async with await aio.open(path) as store:
            async with await (await store.sessions.create("coder")).turn("hi") as turn:
                await turn.append(START)
                await begin_and_cancel(turn.write({"type": "text-delta", "id": "unknown", "delta": "x"}))
                await turn.write(delta("fine"))
            return str(turn.id)

    assert answer(path, run(cancel())) == "fine"
    assert shouted == []


# ---------------------------------------------------------------- the event loop goes on


async def ticks_during(work: Coroutine[Any, Any, Any]) -> int:
    task, ticks = asyncio.ensure_future(work), 0
    while not task.done():
        await asyncio.sleep(0.001)
        ticks += 1
    await task
    return ticks


def test_the_event_loop_ticks_while_a_write_waits_for_another_program(path: str) -> None:
    async def wait() -> int:
        async with await aio.open(path) as store:
            turn = await (await store.sessions.create("coder")).turn("hi")
            await turn.append(START)
            other = apsw.Connection(path)
            other.execute("BEGIN IMMEDIATE")
            asyncio.get_running_loop().call_later(0.5, other.execute, "ROLLBACK")
            ticks = await ticks_during(turn.append(END))
            other.close()
            return ticks

    assert run(wait()) > 10


def test_looking_at_a_turn_does_not_stop_the_event_loop(path: str) -> None:
    """Neither its names nor its repr wait for a write that waits: else nobody could let it go on."""

    async def wait() -> None:
        async with await aio.open(path, timeout=5.0) as store:
            turn = await (await store.sessions.create("coder")).turn("hi")
            await turn.append(START)
            other = apsw.Connection(path)
            other.execute("BEGIN IMMEDIATE")
            write = asyncio.ensure_future(turn.append(END))
            for _ in range(50):
                await asyncio.sleep(0.002)
                assert turn.id and turn.session_id and "Turn" in repr(turn)
            count = asyncio.ensure_future(turn.chunks)
            await asyncio.sleep(0.05)
            assert not write.done()
            other.execute("ROLLBACK")
            other.close()
            await write
            assert await count == 4

    run(wait())


def test_the_event_loop_ticks_while_a_big_chunk_is_written(path: str) -> None:
    async def wait() -> int:
        async with await aio.open(path) as store:
            turn = await (await store.sessions.create("coder")).turn("hi")
            await turn.append(START)
            ticks = await ticks_during(turn.write(delta("x" * 8_000_000)))
            await turn.seal()
            return ticks

    assert run(wait()) >= 1


def test_a_turn_whose_task_was_cancelled_says_so(path: str) -> None:
    async def cancelled() -> str | None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")

            begun = asyncio.Event()

            async def agent() -> None:
                async with await session.turn("hi"):
                    begun.set()
                    await asyncio.Event().wait()

            task = asyncio.ensure_future(agent())
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            [turn] = await session.path()
            return turn.abort_reason

    assert run(cancelled()) == "CancelledError: its task was cancelled"
