"""Palaver for asyncio: the same verbs, each awaited; the work itself happens in threads.

    store = await aio.open("talks.db")
    session = await store.sessions.create("coder")
    async with await session.turn("Hello?") as turn:
        async for chunk in model_stream:
            await turn.write(chunk)

There is no second implementation: an object here stands for the one it is named after, and every method is a coroutine
of the same name and arguments. Calls on one turn keep their order; chunks of many turns share transactions. Cancelling
an awaited call never cancels the work: a chunk whose `write` was cancelled is stored, once.

What can be gone through needs no await before it: `async for event in session.follow()`, `async for info in
store.sessions.list()`. A property that reads the store is awaited, `await session.title`, and set by `set("title", …)`.
"""

from .awaited.handles import (
    Async,
    AsyncMoment,
    AsyncSession,
    AsyncSessionRules,
    AsyncSessions,
    AsyncStore,
    AsyncToolCall,
    AsyncTurn,
    open,
)
from .awaited.iterating import AsyncPage, Following, Listing
from .awaited.recording import AsyncRecording, record

__all__ = [
    "Async",
    "AsyncMoment",
    "AsyncPage",
    "AsyncRecording",
    "AsyncSession",
    "AsyncSessionRules",
    "AsyncSessions",
    "AsyncStore",
    "AsyncToolCall",
    "AsyncTurn",
    "Following",
    "Listing",
    "open",
    "record",
]
