"""Recording a stream on its way to somebody: every chunk goes to the store first, then to the caller.

The stream is read in a thread of its own, so it is recorded to its end even if the caller stops listening; the turn is
sealed when the stream ends, or aborted if it breaks.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from typing import Generic, TypeVar, Unpack

from .base import arguments
from .errors import BadValue, TurnSealed
from .keywords import MessagesLike, TurnKeywords
from .session import Session
from .turn import Chunk, Turn

C = TypeVar("C", bound=Chunk)  # what the stream gives is what a listener gets


class Recording(Generic[C]):
    """Iterate over it for the chunks, once; stop listening, and the recording goes on. `turn` is what they are recorded
    in; `wait()` is until the stream has ended. Chunks that nobody has fetched yet are held in memory."""

    def __init__(self, turn: Turn, stream: Iterable[C]) -> None:
        self.turn = turn
        self.error: BaseException | None = None
        self._chunks: deque[C] = deque()
        self._news = threading.Condition()
        self._ended, self._listening, self._stopped = False, True, False
        self._thread = threading.Thread(target=self._record, args=(stream,), name="palaver-recording")
        self._thread.start()

    def _record(self, stream: Iterable[C]) -> None:
        try:
            with self.turn as turn:
                for chunk in arguments.several("stream", stream):
                    turn.write(chunk)
                    self._tell(chunk)
                return
        except BaseException as error:  # told to whoever listens, or waits
            if not (self._stopped and isinstance(error, TurnSealed)):
                self.error = error
            self._close(stream)
        finally:
            with self._news:
                self._ended = True
                self._news.notify_all()

    def _close(self, stream: object) -> None:
        """A generator that is not read to its end is told so, and can end the model's call."""
        if isinstance(stream, Generator):
            try:
                stream.close()
            except BaseException as error:
                self.error = self.error or error

    def _tell(self, chunk: C) -> None:
        with self._news:
            if self._listening:
                self._chunks.append(chunk)
                self._news.notify_all()

    def __iter__(self) -> Iterator[C]:
        try:
            while (found := self._next()) is not None:
                yield from found
        finally:
            with self._news:
                self._listening = False
                self._chunks.clear()
                self._news.notify_all()
        if self.error is not None:
            raise self.error

    def _next(self) -> tuple[C] | None:
        with self._news:
            self._news.wait_for(lambda: self._chunks or self._ended or not self._listening)
            return (self._chunks.popleft(),) if self._chunks else None

    def stop(self, reason: str | None = "stopped") -> None:
        """Stop generating: the turn is sealed, as aborted, with what it has; who listens is at the end. The stream is
        closed once it gives its next chunk. Nothing happens if the recording has ended."""
        self._stopped = True
        try:
            self.turn.abort(reason)
        except TurnSealed:  # it ended by itself just before
            pass
        finally:
            with self._news:
                self._listening = False
                self._news.notify_all()

    def wait(self, timeout: float | None = None) -> bool:
        """Until everything is recorded. True: it is; an error of the stream is raised here."""
        self._thread.join(arguments.seconds("timeout", timeout))
        if self._thread.is_alive():
            return False
        if self.error is not None:
            raise self.error
        return True


def record(
    session: Session,
    message: MessagesLike,
    stream: Iterable[C],
    *,
    expected: int | None = None,
    **given: Unpack[TurnKeywords],
) -> Recording[C]:
    """Begin a turn with a message and record a stream of chunks in it, passing each on. `given`: as `session.turn`."""
    if not callable(getattr(session, "turn", None)):
        raise BadValue(f"a stream is recorded in a Session of a store, not in {arguments.shown(session)}")
    return Recording(session.turn(message, expected, **given), stream)
