"""Chunks, a bounded run of a coroutine, what is in the file, and a process that records and gets killed."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from itertools import count
from typing import Any, TypeVar

import palaver
from palaver import aio
from palaver.recording import record

from ..tools.chunks import delta
from ..tools.puppet import Crew, play, say
from ..tools.sql import query

PATIENCE = 30.0
BEFORE: set[threading.Thread] = set()
Chunk = dict[str, Any]
T = TypeVar("T")

START: list[Chunk] = [{"type": "start"}, {"type": "text-start", "id": "t"}]
END: list[Chunk] = [{"type": "text-end", "id": "t"}, {"type": "finish"}]


def words(number: int) -> list[Chunk]:
    return [*START, *(delta(f"{n},") for n in range(number)), *END]


def said(number: int) -> str:
    return "".join(f"{n}," for n in range(number))


def run(work: Awaitable[T]) -> T:
    """A coroutine to its end, but not for ever."""

    async def bounded() -> T:
        return await asyncio.wait_for(work, PATIENCE)

    return asyncio.run(bounded())


def endless() -> Iterator[Chunk]:
    """A text that goes on and on."""
    yield from START
    for n in count():
        yield delta(f"{n},")


async def flow(chunks: Iterable[Chunk], pause: float = 0.0) -> AsyncIterator[Chunk]:
    for chunk in chunks:
        await asyncio.sleep(pause)
        yield chunk


async def until(holds: Callable[[], Any], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, f"it never was so: {what}"
        await asyncio.sleep(0.005)


def wait_until(holds: Callable[[], Any], what: str) -> None:
    asyncio.run(until(holds, what))


def ours() -> list[str]:
    """Threads of the library that are alive, and began in this test."""
    return sorted(t.name for t in set(threading.enumerate()) - BEFORE if t.name.startswith("palaver"))


# ---------------------------------------------------------------- what is in the file


def stored(path: str, turn: str) -> list[Chunk]:
    """The chunks of a turn that still streams."""
    found = query(
        path,
        "SELECT e.data FROM turns t JOIN events e ON e.session_id = t.session_id AND e.turn = t.begin_seq "
        "WHERE t.id = ? AND e.kind = 'chunk' ORDER BY e.seq",
        turn,
    )
    return [json.loads(row[0]) for row in found]


def answer(path: str, turn: str) -> str:
    """The text of a turn's answer, from the rows that other programs read."""
    found = query(
        path,
        "SELECT p.data_json ->> 'text' FROM chat_parts p JOIN turns t ON t.response_id = p.message_id "
        "WHERE t.id = ? AND p.type = 'text' ORDER BY p.\"index\"",
        turn,
    )
    return "".join(row[0] for row in found)


def status(path: str, turn: str) -> str:
    ((found,),) = query(path, "SELECT status FROM turns WHERE id = ?", turn)
    return str(found)


# ---------------------------------------------------------------- a process to be killed


CREW = Crew("tests.aio.support")  # processes that record a stream and say what they got


def tell(path: str) -> None:
    asyncio.run(_tell(path))


async def _tell(path: str) -> None:
    store = await aio.open(path)
    session = await store.sessions.create("teller")
    recording = await aio.record(session, "go", flow(endless()))
    say(recording.turn.id)
    async for chunk in recording:
        say(chunk)


def tell_many(path: str) -> None:
    asyncio.run(_tell_many(path))


async def _tell_many(path: str) -> None:
    """32 tasks; which turn has which number, as each is acknowledged."""
    store = await aio.open(path)

    async def stream(turn: Any) -> None:
        for n in count():
            await turn.write(delta(f"{n},"))
            say([turn.id, n])

    turns = [await (await store.sessions.create("teller")).turn("go") for _ in range(32)]
    for turn in turns:
        await turn.append([*START, delta("")])
    await asyncio.gather(*map(stream, turns))


def tell_plainly(path: str) -> None:
    recording = record(palaver.open(path).sessions.create("teller"), "go", endless())
    say(recording.turn.id)
    for chunk in recording:
        say(chunk)


if __name__ == "__main__":
    play()
