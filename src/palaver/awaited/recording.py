"""Recording an async stream on its way to somebody: every chunk goes to the store first, then to the caller."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from typing import Generic, Unpack

from ..base import arguments
from ..errors import BadValue, TurnSealed
from ..keywords import MessagesLike, TurnKeywords
from ..recording import C
from .handles import AsyncSession, AsyncTurn


class AsyncRecording(Generic[C]):
    """Iterate over it for the chunks, once; the stream is recorded to its end whether anybody listens or not."""

    turn: AsyncTurn

    def __init__(self, turn: AsyncTurn, stream: AsyncIterable[C]) -> None:
        self.turn = turn
        self._chunks: deque[C] = deque()
        self._news = asyncio.Event()
        self._listening, self._stopped = True, False
        crew = turn._lane.crew
        self._task = crew.begin(self._record(stream))
        crew.recordings.add(self._task)
        self._task.add_done_callback(crew.recordings.discard)

    async def _record(self, stream: AsyncIterable[C]) -> None:
        try:
            async with self.turn as turn:
                async for chunk in stream:
                    await turn.write(chunk)
                    if self._listening:
                        self._chunks.append(chunk)
                        self._news.set()
        finally:
            self._news.set()
            if isinstance(stream, AsyncGenerator):  # one that is not read to its end is told so: it can end the call
                await stream.aclose()

    async def __aiter__(self) -> AsyncIterator[C]:
        try:
            while self._listening:
                while self._chunks:
                    yield self._chunks.popleft()
                if self._task.done():
                    break
                self._news.clear()
                await self._either()
        finally:
            self._listening = False
            self._chunks.clear()
            self._news.set()
        if self._task.done():
            await self.wait()

    async def _either(self) -> None:
        """Until there is news, or the end."""
        news = asyncio.ensure_future(self._news.wait())
        try:
            await asyncio.wait([news, self._task], return_when=asyncio.FIRST_COMPLETED)
        finally:
            news.cancel()

    async def wait(self) -> None:
        """Until everything is recorded; an error of the stream is raised here."""
        if self._stopped:
            await asyncio.wait([self._task])
        else:
            await asyncio.shield(self._task)

    async def stop(self, reason: str | None = "stopped") -> None:
        """Stop generating: the turn is sealed, as aborted, with what it has; the stream is closed, and who listens is
        at the end. Nothing happens if the recording has ended."""
        if self._task.done():
            return
        self._stopped = True
        try:
            await self.turn.abort(reason)
        except TurnSealed:  # it ended by itself just before
            pass
        self._task.cancel()
        await asyncio.wait([self._task])


async def record(
    session: AsyncSession,
    message: MessagesLike,
    stream: AsyncIterable[C],
    *,
    expected: int | None = None,
    **given: Unpack[TurnKeywords],
) -> AsyncRecording[C]:
    """Begin a turn with a message and record an async stream in it, passing each chunk on."""
    if not isinstance(session, AsyncSession):
        raise BadValue(f"a stream is recorded in a session of an aio store, not in {arguments.shown(session)}")
    if not hasattr(stream, "__aiter__"):
        raise BadValue(f"stream is an async iterator of chunks, not {type(stream).__name__}; see recording.record")
    return AsyncRecording(await session.turn(message, expected, **given), stream)
