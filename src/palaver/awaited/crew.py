"""The threads of an asyncio store, and the lanes that calls take to them.

Work that was begun is finished whether anybody waits for it or not. Calls on one turn keep their order; chunks of many
turns, written while others are on their way, go together as one piece of work.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from ..errors import StoreClosed
from ..streaming.batch import Outcome, write_chunks
from ..turn import Chunk, Turn

_THREADS = 32


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


class Crew:
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


class Lane:
    """Runs calls in threads. An ordered lane runs one after the other, in the order they were made."""

    def __init__(self, crew: Crew, *, ordered: bool = False) -> None:
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
