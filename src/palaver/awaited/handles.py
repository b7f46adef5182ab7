"""The handles of `palaver.aio`: each stands for the one it is named after, and has its verbs, awaited.

There is no second implementation. A verb is looked up on the synchronous handle and runs in a thread; what it answers
is wrapped, if it is a handle, too. `aio.pyi`, which is generated from the synchronous classes, tells type checkers what
there is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from types import TracebackType
from typing import Any, Unpack

from .. import opening
from ..base import arguments
from ..errors import BadValue, HeadConflict, TurnSealed
from ..keywords import OpenKeywords
from ..model import SessionInfo
from ..session import Moment, Session
from ..session_rules import SessionRules
from ..sessions import Sessions
from ..store import Store
from ..tool_call import ToolCall
from ..turn import Chunk, Turn
from .crew import Crew, Lane
from .iterating import Following, Listing


async def open(url: opening.Address, space: str | None = None, **options: Unpack[OpenKeywords]) -> AsyncStore:
    """`palaver.open`, awaited."""
    crew = Crew()
    lane = Lane(crew)
    try:
        return AsyncStore(await lane.run(partial(opening.open, url, space, **options), orphan=Store.close), lane)
    except BaseException:
        crew.disband()
        raise


class Async:
    """Stands for an object of the synchronous library."""

    _inner: Any
    _lane: Lane

    def __init__(self, inner: Any, lane: Lane) -> None:
        self._inner = inner
        self._lane = lane

    def __repr__(self) -> str:
        return f"<Async {type(self._inner).__name__} {getattr(self._inner, 'id', '')}>"

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise AttributeError(f"await set({name!r}, …) instead: setting {name} takes a thread")
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(type(self._inner), name, None)
        if callable(found):
            return partial(self._call, name)
        if isinstance(found, property) and name not in _PLAIN | _HANDLES:
            return self._read(name)
        return _wrapped(getattr(self._inner, name), self._lane)

    async def _call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        args = tuple(_bare(arg) for arg in args)
        kwargs = {key: _bare(value) for key, value in kwargs.items()}
        work = partial(getattr(self._inner, name), *args, **kwargs)
        return _wrapped(await self._lane.run(work, orphan=_end_turn), self._lane)

    async def _read(self, name: str) -> Any:
        return _wrapped(await self._lane.run(lambda: getattr(self._inner, name)), self._lane)

    async def set(self, name: str, value: Any) -> None:
        """Set a property, such as `title`."""
        found = getattr(type(self._inner), arguments.text("name", name), None)
        if not isinstance(found, property) or found.fset is None:
            raise BadValue(f"a {type(self._inner).__name__} has no {arguments.shown(name)} that can be set")
        await self._lane.run(lambda: setattr(self._inner, name, value))


def _end_turn(answer: Any) -> None:
    """A turn that was begun for somebody who went away is ended: nobody could."""
    if isinstance(answer, Turn):
        try:
            if not answer.give_back():
                answer.abort("whoever began it was cancelled")
        except (HeadConflict, TurnSealed):  # it is a stray, or somebody else ended it
            pass


class AsyncStore(Async):
    """A Store; leave its block, or await `close()`."""

    async def close(self) -> None:
        """What was begun is finished first. A second time does nothing."""
        crew = self._lane.crew
        if crew.is_inherited:  # the parent's to close
            self._inner.close()
            return
        if crew.closing is None:
            crew.closing = asyncio.ensure_future(self._close(crew))
        await asyncio.shield(crew.closing)

    async def _close(self, crew: Crew) -> None:
        await crew.finish()
        task = crew.begin(crew.execute(self._inner.close), ending=True)
        crew.disband()
        await task

    async def __aenter__(self) -> AsyncStore:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncSessions(Async):
    """Finding and making sessions; `async for` goes through all that are not archived."""

    def list(self, *, after: str | None = None, **wanted: Any) -> Listing:
        """`sessions.list`: awaited, one page; with `async for`, all of them."""
        bare = {name: _bare(value) for name, value in wanted.items()}

        async def fetch(after: str | None) -> Any:
            return await self._lane.run(partial(self._inner.list, after=after, **bare))

        return Listing(fetch, after)

    def __aiter__(self) -> AsyncIterator[SessionInfo]:
        return self.list(order="created", limit=500).__aiter__()


class AsyncSession(Async):
    """A Session."""

    def follow(self, after: int | None = None, *, timeout: float | None = None) -> Following:
        """`session.follow`, with `async for`. It holds no thread while nothing happens."""
        arguments.seconds("timeout", timeout)
        if after is not None:
            arguments.whole("after", after)
        return Following(self._inner, self._lane, after, timeout)


class AsyncSessionRules(Async):
    """A session's own rules."""


class AsyncMoment(Async):
    """A session as it was."""


class AsyncToolCall(Async):
    """A tool call of an open turn, waiting for its answer."""


class AsyncTurn(Async):
    """A Turn; leaving its block seals it, as without asyncio."""

    def __init__(self, inner: Any, lane: Lane) -> None:
        super().__init__(inner, Lane(lane.crew, ordered=True))

    async def write(self, chunk: Chunk, *, at: int | None = None) -> None:
        """`turn.write`; chunks of many turns share a transaction."""
        if at is None:
            await self._lane.write(self._inner, chunk)
        else:
            await self._call("write", chunk, at=at)

    async def __aenter__(self) -> AsyncTurn:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._lane.run(partial(self._inner.__exit__, kind, error, trace), ending=True)


_WRAPPERS: dict[type, type[Async]] = {
    Session: AsyncSession,
    Sessions: AsyncSessions,
    SessionRules: AsyncSessionRules,
    Moment: AsyncMoment,
    ToolCall: AsyncToolCall,
    Turn: AsyncTurn,
    Store: AsyncStore,
}
_HANDLES = {"permissions"}
_PLAIN = {"id", "session_id", "name"}


def _wrapped(value: Any, lane: Lane) -> Any:
    wrapper = _WRAPPERS.get(type(value))
    return value if wrapper is None else wrapper(value, lane)


def _bare(value: Any) -> Any:
    return value._inner if isinstance(value, Async) else value
