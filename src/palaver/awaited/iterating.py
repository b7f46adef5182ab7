"""What is gone through with `async for`, and may be awaited first: events as they come, and lists of sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from functools import partial
from typing import Any

from ..background.watcher import Quiet, Subscription
from ..model import Event, Page, SessionInfo
from ..session import Session
from .crew import Lane


class Following:
    """Events as they come, once. Without a cursor it begins where the session stands when it is awaited, or else when
    the first event is asked for. It holds no thread while nothing happens."""

    def __init__(self, session: Session, lane: Lane, after: int | None, timeout: float | None) -> None:
        self._session = session
        self._lane = lane
        self._after = after
        self._timeout = timeout
        self._events: AsyncGenerator[Event, None] | None = None

    def __await__(self) -> Generator[Any, None, Following]:
        return self._begun().__await__()

    async def _begun(self) -> Following:
        if self._after is None:
            self._after = await self._lane.run(self._session.cursor)
        return self

    def __aiter__(self) -> Following:
        return self

    async def __anext__(self) -> Event:
        await self._begun()
        if self._events is None:
            assert self._after is not None
            self._events = _events(self._session, self._lane, self._after, self._timeout)
        return await anext(self._events)

    async def aclose(self) -> None:
        """Stop following now; leaving the loop does it a moment later."""
        if self._events is not None:
            await self._events.aclose()


async def _events(session: Session, lane: Lane, cursor: int, timeout: float | None) -> AsyncGenerator[Event, None]:
    """It knows nothing of who iterates, so that it ends when that one is forgotten."""
    news, quiet, watcher = asyncio.Event(), Quiet(timeout), session._store._background.watcher
    wake = partial(asyncio.get_running_loop().call_soon_threadsafe, news.set)
    with Subscription(watcher, session.id, wake) as subscription:
        while True:
            news.clear()
            found = await lane.run(partial(watcher.since, session.id, cursor))
            for event in found:
                cursor = event.seq
                yield event
            if found:
                quiet.begin()
            elif quiet.is_over:
                return
            elif not subscription.begin():
                await _until(news, quiet.left)


async def _until(news: asyncio.Event, seconds: float | None) -> None:
    try:
        async with asyncio.timeout(seconds):
            await news.wait()
    except TimeoutError:
        pass


Fetch = Callable[[str | None], Awaitable[Page]]


class Listing:
    """Sessions of a list. Awaited: one page of it; with `async for`: all of them, page by page."""

    def __init__(self, fetch: Fetch, after: str | None) -> None:
        self._fetch = fetch
        self._after = after

    def __await__(self) -> Generator[Any, None, AsyncPage]:
        return self._page().__await__()

    async def _page(self) -> AsyncPage:
        return AsyncPage(await self._fetch(self._after), self._fetch)

    async def __aiter__(self) -> AsyncIterator[SessionInfo]:
        async for info in await self:
            yield info


class AsyncPage:
    """Part of a list. `next` is the cursor of the rest, None at the end; `async for` goes on through the rest."""

    def __init__(self, page: Page, fetch: Fetch) -> None:
        self.sessions: list[SessionInfo] = page.sessions
        self.next: str | None = page.next
        self._goes_on = page.goes_on
        self._fetch = fetch

    def __repr__(self) -> str:
        return f"<AsyncPage of {len(self.sessions)} sessions{', and more' if self.next else ''}>"

    async def __aiter__(self) -> AsyncIterator[SessionInfo]:
        sessions, after = self.sessions, self.next
        while True:
            for info in sessions:
                yield info
            if after is None or not self._goes_on:
                return
            page = await self._fetch(after)
            sessions, after = page.sessions, page.next
