"""A process that forks with an open store: the child hears that it is not its store, the parent goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from palaver import aio

from ..tools.chunks import delta
from ..tools.puppet import in_a_fork
from .support import START, run, said, words


def errors_of(uses: dict[str, Callable[[], Awaitable[Any]]]) -> dict[str, str]:
    return {name: error_of(use) for name, use in uses.items()}


def error_of(use: Callable[[], Awaitable[Any]]) -> str:
    async def awaited() -> None:
        await use()

    try:
        asyncio.run(awaited())
    except Exception as error:
        return type(error).__name__
    return "nothing"


def test_a_forked_child_is_refused_and_the_parent_goes_on(path: str) -> None:
    async def talk() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            turn = await session.turn("hi")
            for chunk in (*START, delta("one ")):
                await turn.write(chunk)
            uses = {
                "read": session.messages,
                "begin": lambda: session.turn("from the child"),
                "write": lambda: turn.write(delta("from the child")),
                "seal": turn.seal,
                "close": store.close,
            }
            told = in_a_fork(lambda: errors_of(uses))
            assert told == {**dict.fromkeys(("read", "begin", "write", "seal"), "StoreClosed"), "close": "nothing"}
            await turn.write(delta("two"))
            await turn.seal()
            texts = [part["text"] for message in await session.messages() for part in message["parts"]]
            assert texts == ["hi", "one two"]

    run(talk())


def test_a_child_forked_while_others_stream_is_refused_and_does_not_wait_for_their_threads(path: str) -> None:
    async def talk() -> None:
        async with await aio.open(path) as store:
            sessions = [await store.sessions.create("coder") for _ in range(4)]
            turns = [await session.turn("hi") for session in sessions]
            streams = [asyncio.ensure_future(stream(turn)) for turn in turns]
            await asyncio.sleep(0.02)
            uses = {"write": lambda: turns[0].write(delta("!")), "read": sessions[0].messages}
            for _ in range(3):
                told = in_a_fork(lambda: errors_of(uses))
                assert told == {"write": "StoreClosed", "read": "StoreClosed"}
                await asyncio.sleep(0)
            await asyncio.gather(*streams)
            for session in sessions:
                assert (await session.messages())[1]["parts"][0]["text"] == said(200)

    async def stream(turn: Any) -> None:
        for chunk in words(200):
            await turn.write(chunk)
        await turn.seal()

    run(talk())
