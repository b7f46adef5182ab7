"""Palaver for asyncio: the same verbs, each awaited; the work itself happens in threads.

    store = await aio.open("talks.db")
    session = await store.sessions.create("coder")
    async with await session.turn("Hello?") as turn:
        async for chunk in model_stream:
            await turn.write(chunk)

There is no second implementation: an object here stands for the one it is named after, and every method is a coroutine
of the same name and arguments. Calls on one turn keep their order; chunks of many turns share transactions. Cancelling
an awaited call never cancels the work: a chunk whose `write` was cancelled is stored, once.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Any

from . import opening
from .base import arguments
from .base.clock import monotonic
from .errors import BadValue, HeadConflict, StoreClosed, TurnSealed
from .model import Event, SessionInfo
from .session import Moment, Session
from .session_rules import SessionRules
from .sessions import Sessions
from .store import Store
from .streaming.batch import Outcome, write_chunks
from .tool_call import ToolCall
from .turn import Chunk, Turn
from .watcher import Subscription

_THREADS = 32


async def open(url: Any, space: str | None = None, **options: Any) -> AsyncStore:
    """`palaver.open`, awaited."""
    crew = _Crew()
    lane = _Lane(crew)
    try:
        return AsyncStore(await lane.run(partial(opening.open, url, space, **options), orphan=Store.close), lane)
    except BaseException:
        crew.disband()
        raise


class _Batch:
    """Chunks of many turns that are written together, and who waits for them."""

    def __init__(self, end: asyncio.Future[Any]) -> None:
        self.end = end
        self.chunks: list[tuple[Turn, Chunk]] = []
        self.waiters: list[asyncio.Future[None]] = []

    def settle(self, work: asyncio.Future[list[Outcome]]) -> None:
        failure = work.exception()
        self.tell([failure] * len(self.waiters) if failure else work.result())

    def tell(self, outcomes: Sequence[BaseException | None]) -> None:
        self.end.set_result(None)
        for waiter, outcome in zip(self.waiters, outcomes, strict=True):
            if waiter.done():  # whoever waited has gone away
                continue
            if outcome is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(outcome)


class _Crew:
    """The threads of one store, and the work they have."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="palaver-aio")
        self._pid = os.getpid()
        self._work: set[asyncio.Future[Any]] = set()
        self.recordings: set[asyncio.Future[Any]] = set()
        self.closed = False
        self.closing: asyncio.Future[None] | None = None
        self._batch: _Batch | None = None  # not handed to a thread yet
        self._is_writing = False

    @property
    def is_inherited(self) -> bool:
        """We are in a forked child, which has none of the threads."""
        return os.getpid() != self._pid

    def refuse_closed(self, *, ending: bool = False) -> None:
        """Once the store closes only what ends something that was begun is taken."""
        if self.is_inherited:
            raise StoreClosed.by_fork()
        if self.closed or (self.closing is not None and not ending):
            raise StoreClosed("this store is closed; open it again")

    def begin(self, work: Any, *, ending: bool = False) -> asyncio.Future[Any]:
        try:
            self.refuse_closed(ending=ending)
        except StoreClosed:
            work.close()
            raise
        return self._noted(asyncio.ensure_future(work))

    def _noted(self, task: asyncio.Future[Any]) -> asyncio.Future[Any]:
        self._work.add(task)
        task.add_done_callback(self._done)
        return task

    def write(self, turn: Turn, chunk: Chunk) -> tuple[asyncio.Future[None], asyncio.Future[Any]]:
        """Chunks that come while others are written go together, as one piece of work for one thread. How this one
        ends, and the end of them all; who waits for the first may go away."""
        self.refuse_closed()
        loop = asyncio.get_running_loop()
        if self._batch is None:
            self._batch = _Batch(self._noted(loop.create_future()))
            if not self._is_writing:
                self._is_writing = True
                loop.call_soon(self._write, loop)  # after everybody who is ready now
        waiter = loop.create_future()
        self._batch.chunks.append((turn, chunk))
        self._batch.waiters.append(waiter)
        return waiter, self._batch.end

    def _write(self, loop: asyncio.AbstractEventLoop) -> None:
        batch, self._batch = self._batch, None
        self._is_writing = batch is not None
        if batch is None:
            return
        try:
            work = loop.run_in_executor(self._pool, write_chunks, batch.chunks)
        except RuntimeError as error:  # the interpreter ends
            batch.tell([error] * len(batch.waiters))
            return
        work.add_done_callback(batch.settle)
        work.add_done_callback(lambda _: self._write(loop))

    def _done(self, task: asyncio.Future[Any]) -> None:
        self._work.discard(task)
        if not task.cancelled():
            task.exception()  # an error that nobody awaited any more: the next call on the turn meets it
        if self.closed and not self._work:
            self._pool.shutdown(wait=False)

    async def execute(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def finish(self) -> None:
        """Until everything that was begun is done, whoever has gone away since. Recordings end here, aborted."""
        mine = asyncio.current_task()
        for task in self.recordings:
            task.cancel()
        while rest := [task for task in self._work if task is not mine]:
            await asyncio.wait(rest)

    def disband(self) -> None:
        self.closed = True
        if not self._work:
            self._pool.shutdown(wait=False)


class _Lane:
    """Runs calls in threads. An ordered lane runs one after the other, in the order they were made."""

    def __init__(self, crew: _Crew, *, ordered: bool = False) -> None:
        self.crew = crew
        self._ordered = ordered
        self._last: asyncio.Future[Any] | None = None
        self._chunk: asyncio.Future[Any] | None = None  # the newest that was written with others

    async def run(
        self, work: Callable[[], Any], *, orphan: Callable[[Any], None] | None = None, ending: bool = False
    ) -> Any:
        """The answer. If nobody waits for it any more, it is given to `orphan`."""
        task = self.crew.begin(self._after(self._last, work), ending=ending)
        if self._ordered:
            self._last = task
        try:
            return await asyncio.shield(task)  # who awaits may go away; the work goes on
        except asyncio.CancelledError:
            if orphan is not None and not task.cancelled():
                self.crew.begin(self._look_after(task, orphan), ending=True)
            raise

    async def write(self, turn: Turn, chunk: Chunk) -> None:
        """Write a chunk after every call on the turn that came before it. If that was a chunk, too, nothing is awaited:
        the crew writes one batch after the other, so the order is kept."""
        if self._last is not self._chunk and self._last is not None and not self._last.done():
            await self.run(partial(turn.write, chunk))
            return
        waiter, self._chunk = self.crew.write(turn, chunk)
        self._last = self._chunk
        await waiter

    async def _after(self, before: asyncio.Future[Any] | None, work: Callable[[], Any]) -> Any:
        if before is not None and not before.done():
            await asyncio.wait([before])
        return await self.crew.execute(work)

    async def _look_after(self, task: asyncio.Future[Any], orphan: Callable[[Any], None]) -> None:
        await asyncio.wait([task])
        if not task.cancelled() and task.exception() is None:
            await asyncio.to_thread(orphan, task.result())


class Async:
    """Stands for an object of the synchronous library."""

    _inner: Any
    _lane: _Lane

    def __init__(self, inner: Any, lane: _Lane) -> None:
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

    async def _close(self, crew: _Crew) -> None:
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

    async def __aiter__(self) -> AsyncIterator[SessionInfo]:
        after = None
        while True:
            page = await self.list(order="created", limit=500, after=after)
            for info in page.sessions:
                yield info
            after = page.next
            if after is None:
                return


class AsyncSession(Async):
    """A Session."""

    async def follow(self, after: int | None = None, *, timeout: float | None = None) -> AsyncIterator[Event]:
        """`session.follow`, as an async iterator. It holds no thread while nothing happens."""
        arguments.seconds("timeout", timeout)
        return self._follow(await self.cursor() if after is None else arguments.whole("after", after), timeout)

    async def _follow(self, cursor: int, timeout: float | None) -> AsyncIterator[Event]:
        news, quiet_since = asyncio.Event(), monotonic()
        wake = partial(asyncio.get_running_loop().call_soon_threadsafe, news.set)
        with Subscription(self._inner._store._watcher, self._inner.id, wake) as subscription:
            while True:
                news.clear()
                found = await self._lane.run(partial(_all, self._inner, cursor))
                for event in found:
                    cursor = event.seq
                    yield event
                if found:
                    quiet_since = monotonic()
                    continue
                left = None if timeout is None else timeout - (monotonic() - quiet_since)
                if left is not None and left <= 0:
                    return
                if not subscription.begin():
                    await _until(news, left)


async def _until(news: asyncio.Event, seconds: float | None) -> None:
    try:
        async with asyncio.timeout(seconds):
            await news.wait()
    except TimeoutError:
        pass


def _all(session: Session, cursor: int) -> list[Event]:
    return list(session.follow(cursor, timeout=0))


class AsyncTurn(Async):
    """A Turn; leaving its block seals it, as without asyncio."""

    def __init__(self, inner: Any, lane: _Lane) -> None:
        super().__init__(inner, _Lane(lane.crew, ordered=True))

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
    SessionRules: Async,
    Moment: Async,
    ToolCall: Async,
    Turn: AsyncTurn,
    Store: AsyncStore,
}
_HANDLES = {"permissions"}
_PLAIN = {"id", "session_id", "name"}


def _wrapped(value: Any, lane: _Lane) -> Any:
    wrapper = _WRAPPERS.get(type(value))
    return value if wrapper is None else wrapper(value, lane)


def _bare(value: Any) -> Any:
    return value._inner if isinstance(value, Async) else value


# ---------------------------------------------------------------- recording


class AsyncRecording:
    """Iterate over it for the chunks, once; the stream is recorded to its end whether anybody listens or not."""

    def __init__(self, turn: AsyncTurn, stream: AsyncIterable[Chunk]) -> None:
        self.turn = turn
        self._chunks: deque[Chunk] = deque()
        self._news = asyncio.Event()
        self._listening, self._stopped = True, False
        crew = turn._lane.crew
        self._task = crew.begin(self._record(stream))
        crew.recordings.add(self._task)
        self._task.add_done_callback(crew.recordings.discard)

    async def _record(self, stream: AsyncIterable[Chunk]) -> None:
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

    async def __aiter__(self) -> AsyncIterator[Chunk]:
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


async def record(session: Async, message: Any, stream: AsyncIterable[Chunk], **given: Any) -> AsyncRecording:
    """Begin a turn with a message and record an async stream in it, passing each chunk on."""
    if not isinstance(session, AsyncSession):
        raise BadValue(f"a stream is recorded in a session of an aio store, not in {arguments.shown(session)}")
    if not hasattr(stream, "__aiter__"):
        raise BadValue(f"stream is an async iterator of chunks, not {type(stream).__name__}; see recording.record")
    return AsyncRecording(await session.turn(message, **given), stream)
