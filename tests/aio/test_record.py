"""A stream is recorded on its way to somebody: to its end, whoever goes away, and before anybody gets to see it.

Each claim is made for both recorders: the one of asyncio, and the plain one with its thread.
"""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import palaver
from palaver import aio
from palaver.errors import ChunkError, StoreClosed, TurnSealed
from palaver.recording import record

from ..tools.chunks import delta
from ..tools.sql import query
from .support import (
    CREW,
    END,
    START,
    Chunk,
    answer,
    endless,
    flow,
    ours,
    run,
    said,
    status,
    stored,
    until,
    wait_until,
    words,
)


class Broke(Exception):
    pass


async def breaking(chunks: list[Chunk]) -> AsyncIterator[Chunk]:
    for chunk in chunks:
        yield chunk
    raise Broke("the line is dead")


def plainly_breaking(chunks: list[Chunk]) -> Iterator[Chunk]:
    yield from chunks
    raise Broke("the line is dead")


# ---------------------------------------------------------------- asyncio: the listener


def test_the_listener_gets_every_chunk_after_it_is_stored(path: str) -> None:
    async def listen() -> str:
        async with await aio.open(path) as store:
            recording = await aio.record(await store.sessions.create("coder"), "go", flow(words(20)))
            heard: list[Chunk] = []
            async for chunk in recording:
                heard.append(chunk)
                if chunk["type"] == "text-delta":
                    assert chunk in stored(path, recording.turn.id) or status(path, recording.turn.id) == "completed"
            assert heard == words(20)
            assert await recording.turn.status == "completed"
            return str(recording.turn.id)

    assert answer(path, run(listen())) == said(20)


@pytest.mark.parametrize("how", ["break", "cancel", "raise", "never", "forget"])
def test_whoever_goes_away_the_stream_is_recorded_to_its_end(path: str, how: str) -> None:
    async def listen(recording: aio.AsyncRecording) -> None:
        async for chunk in recording:
            if chunk.get("delta") == "3,":
                if how == "break":
                    break
                if how == "raise":
                    raise Broke
                await asyncio.sleep(3600)

    async def leave() -> str:
        async with await aio.open(path) as store:
            recording = await aio.record(await store.sessions.create("coder"), "go", flow(words(100), 0.0005))
            turn = str(recording.turn.id)
            if how in ("break", "cancel", "raise"):
                task = asyncio.ensure_future(listen(recording))
                await asyncio.wait([task], timeout=0.02 if how == "cancel" else None)
                task.cancel()
                await asyncio.wait([task])
            if how == "forget":
                del recording
                gc.collect()
            await until(lambda: status(path, turn) == "completed", "it is sealed")
            return turn

    assert answer(path, run(leave())) == said(100)


@pytest.mark.parametrize("broken", [*range(1, 6)])
def test_a_stream_that_breaks_aborts_the_turn_and_the_error_is_told(path: str, broken: int) -> None:
    async def listen() -> str:
        async with await aio.open(path) as store:
            recording = await aio.record(await store.sessions.create("c"), "go", breaking(words(5)[:broken]))
            heard: list[Chunk] = []
            with pytest.raises(Broke):
                async for chunk in recording:
                    heard.append(chunk)
            assert heard == words(5)[:broken]
            with pytest.raises(Broke):
                await recording.wait()
            return str(recording.turn.id)

    turn = run(listen())
    assert (status(path, turn), answer(path, turn)) == ("aborted", said(max(0, broken - 2)))
    ((facts,),) = query(path, "SELECT facts_json FROM turns")
    assert json.loads(facts)["abort_reason"] == "Broke: the line is dead"


def test_a_chunk_that_is_refused_aborts_the_turn_and_the_error_is_told(path: str) -> None:
    async def listen() -> str:
        async with await aio.open(path) as store:
            bad = [*START, delta("so far"), {"type": "text-delta", "id": "unknown", "delta": "x"}, *END]
            recording = await aio.record(await store.sessions.create("c"), "go", flow(bad))
            with pytest.raises(palaver.PalaverError):
                await recording.wait()
            return str(recording.turn.id)

    turn = run(listen())
    assert (status(path, turn), answer(path, turn)) == ("aborted", "so far")


def test_a_slow_listener_misses_nothing_and_stops_nothing(path: str) -> None:
    async def listen() -> None:
        async with await aio.open(path) as store:
            recording = await aio.record(await store.sessions.create("c"), "go", flow(words(200)))
            heard: list[Chunk] = []
            async for chunk in recording:
                if not heard:
                    await recording.wait()
                heard.append(chunk)
            assert heard == words(200)

    run(listen())


def test_one_waits_while_another_listens(path: str) -> None:
    async def listen() -> None:
        async with await aio.open(path) as store:
            recording = await aio.record(await store.sessions.create("c"), "go", flow(words(30), 0.002))

            async def hear() -> list[Chunk]:
                return [chunk async for chunk in recording]

            hearing = asyncio.ensure_future(hear())
            await asyncio.sleep(0.01)
            await recording.wait()
            assert await hearing == words(30)
            assert await hear() == []

    run(listen())


def test_waiting_may_be_cancelled_and_the_recording_goes_on(path: str) -> None:
    async def leave() -> str:
        async with await aio.open(path) as store:
            recording = await aio.record(await store.sessions.create("c"), "go", flow(words(30), 0.002))
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(recording.wait(), 0.01)
            await recording.wait()
            return str(recording.turn.id)

    assert answer(path, run(leave())) == said(30)


def test_a_stream_that_asks_for_approval_leaves_the_turn_waiting(path: str) -> None:
    call = {"type": "tool-input-available", "toolCallId": "c", "toolName": "run", "input": {}}
    chunks = [{"type": "start"}, call, {"type": "finish"}]

    async def listen() -> str:
        async with await aio.open(path) as store:
            recording = await aio.record(await store.sessions.create("c"), "go", flow(chunks))
            assert [chunk async for chunk in recording] == chunks
            return str(recording.turn.id)

    assert status(path, run(listen())) == "waiting"


def test_many_streams_at_once_are_each_recorded_whole(path: str) -> None:
    async def talk() -> list[str]:
        async with await aio.open(path) as store:
            sessions = [await store.sessions.create("coder") for _ in range(32)]
            recordings = [await aio.record(s, "go", flow(words(20))) for s in sessions]
            await asyncio.gather(*(recording.wait() for recording in recordings))
            return [str(recording.turn.id) for recording in recordings]

    assert [answer(path, turn) for turn in run(talk())] == [said(20)] * 32


def test_a_store_that_closes_ends_its_recordings_and_says_so(path: str) -> None:
    async def close() -> str:
        store = await aio.open(path)
        recording = await aio.record(await store.sessions.create("c"), "go", flow(endless()))
        heard: list[Chunk] = []

        async def hear() -> None:
            async for chunk in recording:
                heard.append(chunk)

        hearing = asyncio.ensure_future(hear())
        await until(lambda: len(heard) > 10, "some chunks came")
        await store.close()
        await asyncio.wait([hearing])
        with pytest.raises((StoreClosed, TurnSealed, asyncio.CancelledError)):
            hearing.result()
        written = answer(path, str(recording.turn.id))
        assert written.startswith("".join(chunk.get("delta", "") for chunk in heard))
        return str(recording.turn.id)

    assert status(path, run(close())) == "aborted"


def test_a_loop_that_ends_in_the_middle_leaves_an_aborted_turn(path: str) -> None:
    async def leave() -> str:
        store = await aio.open(path)
        recording = await aio.record(await store.sessions.create("c"), "go", flow(endless()))
        async for chunk in recording:
            if chunk.get("delta") == "9,":
                return str(recording.turn.id)
        raise AssertionError("the stream ended")

    turn = asyncio.run(leave())
    wait_until(lambda: status(path, turn) == "aborted", "it is aborted")
    assert answer(path, turn).startswith(said(10))


# ---------------------------------------------------------------- without asyncio


@pytest.mark.parametrize("as_what", [list, tuple, iter])
def test_plain_recording_takes_any_iterable(store: palaver.Store, path: str, as_what: Any) -> None:
    recording = record(store.sessions.create("coder"), "go", as_what(words(20)))
    assert list(recording) == words(20)
    assert recording.wait() is True
    assert (status(path, recording.turn.id), answer(path, recording.turn.id)) == ("completed", said(20))


@pytest.mark.parametrize("how", ["break", "raise", "never", "held", "forget"])
def test_plainly_too_the_stream_is_recorded_to_its_end(store: palaver.Store, path: str, how: str) -> None:
    recording = record(store.sessions.create("coder"), "go", words(500))
    turn, held = recording.turn.id, iter(recording)
    if how == "held":
        next(held)
    if how in ("break", "raise"):
        try:
            for chunk in recording:
                if chunk.get("delta") == "3,":
                    if how == "break":
                        break
                    raise Broke
        except Broke:
            pass
    if how == "forget":
        del recording, held
        gc.collect()
    wait_until(lambda: status(path, turn) == "completed", "it is sealed")
    assert answer(path, turn) == said(500)


def test_plainly_too_a_stream_that_breaks_aborts_and_the_error_is_told(store: palaver.Store, path: str) -> None:
    recording = record(store.sessions.create("coder"), "go", plainly_breaking(words(5)[:4]))
    heard: list[Chunk] = []
    with pytest.raises(Broke):
        for chunk in recording:
            heard.append(chunk)
    with pytest.raises(Broke):
        recording.wait()
    assert heard == words(5)[:4] and isinstance(recording.error, Broke)
    assert (status(path, recording.turn.id), answer(path, recording.turn.id)) == ("aborted", "0,1,")


@pytest.mark.parametrize("bad", [7, [7], [{"no": "type"}]], ids=str)
def test_what_is_no_stream_aborts_the_turn_and_says_so(store: palaver.Store, path: str, bad: Any) -> None:
    recording = record(store.sessions.create("coder"), "go", bad)
    with pytest.raises((TypeError, ChunkError, palaver.BadValue)):
        recording.wait()
    assert status(path, recording.turn.id) == "aborted"


def test_plainly_too_one_waits_while_another_listens(store: palaver.Store) -> None:
    gate, heard = threading.Event(), []

    def gated() -> Iterator[Chunk]:
        yield from words(30)[:10]
        gate.wait(30)
        yield from words(30)[10:]

    recording = record(store.sessions.create("coder"), "go", gated())
    listener = threading.Thread(target=lambda: heard.extend(recording))
    listener.start()
    assert recording.wait(timeout=0.05) is False
    gate.set()
    assert recording.wait(30) is True
    listener.join(30)
    assert not listener.is_alive() and heard == words(30)
    assert list(recording) == []


def test_a_plain_store_that_closes_ends_its_recordings(path: str) -> None:
    store = palaver.open(path)
    recording = record(store.sessions.create("coder"), "go", endless())
    heard = [chunk for chunk, _ in zip(recording, range(10), strict=False)]
    store.close()
    with pytest.raises((StoreClosed, TurnSealed)):
        recording.wait(30)
    assert len(heard) == 10 and status(path, recording.turn.id) == "aborted"


def test_no_thread_of_a_recording_is_left_behind(path: str) -> None:
    with palaver.open(path) as store:
        for _ in range(5):
            record(store.sessions.create("coder"), "go", words(10)).wait(30)
    wait_until(lambda: not ours(), "no thread is left")
    assert ours() == []


# ---------------------------------------------------------------- kill -9


@pytest.mark.parametrize("kind", ["tell", "tell_plainly"])
@pytest.mark.parametrize("count", [1, 40, 300])
def test_what_a_listener_got_survives_a_kill(path: str, kind: str, count: int) -> None:
    with CREW.start(kind, path=path) as teller:
        turn, *heard = [teller.hear() for _ in range(1 + count)]
        heard += teller.kill()
    kept = stored(path, turn)
    assert kept[: len(heard)] == heard
    assert kept == words(len(kept))[: len(kept)]
    with palaver.open(path) as store:
        (info,) = store.sessions.list().sessions
        last = store.sessions.get(info.id).messages()[-1]
        text = "".join(chunk.get("delta", "") for chunk in kept)
        assert "".join(part.get("text", "") for part in last.get("parts", []) if last["role"] == "assistant") == text
        assert status(path, turn) == "aborted"


# ---------------------------------------------------------------- stop generating


def test_a_recording_is_stopped_with_what_it_has(path: str) -> None:
    closed = threading.Event()

    def stream() -> Iterator[Chunk]:
        try:
            yield from START
            n = 0
            while True:
                n += 1
                yield delta(f"{n} ")
        finally:
            closed.set()

    with palaver.open(path) as store:
        recording = record(store.sessions.create(), "Count.", stream())
        for chunk in recording:
            if chunk.get("delta") == "3 ":
                recording.stop("enough")
        assert recording.wait() is True
        assert closed.wait(10)
        recording.stop()  # it has ended: nothing happens
    with palaver.open(path) as store:
        session = store.sessions.get(store.sessions.list().sessions[0].id)
        [turn] = session.path()
        assert (turn.status, turn.abort_reason) == ("aborted", "enough")
        assert session.messages()[1]["parts"][-1]["text"].startswith("1 2 3 ")


def test_an_async_recording_is_stopped_with_what_it_has(path: str) -> None:
    closed: list[bool] = []

    async def stream() -> AsyncIterator[Chunk]:
        try:
            for chunk in START:
                yield chunk
            n = 0
            while True:
                n += 1
                yield delta(f"{n} ")
                await asyncio.sleep(0)
        finally:
            closed.append(True)

    async def main() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create()
            recording = await aio.record(session, "Count.", stream())
            async for chunk in recording:
                if chunk.get("delta") == "3 ":
                    await recording.stop("enough")
            await recording.wait()
            await recording.stop()
            [turn] = await session.path()
            assert (turn.status, turn.abort_reason, closed) == ("aborted", "enough", [True])
            assert (await session.messages())[1]["parts"][-1]["text"].startswith("1 2 3 ")

    asyncio.run(main())


def test_text_and_tools_are_written_without_chunks_in_asyncio_too(path: str) -> None:
    async def main() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.get_or_create("chat-42")
            async with await session.turn("Weather?") as turn:
                await turn.text("Let me look.")
                call = await turn.tool("weather", {"city": "Rome"})
                await call.output(21)
                await turn.text("Warm.")
            assert (call.id, call.name) == (call._inner.id, "weather")
            assert [part["type"] for part in (await session.messages())[1]["parts"]] == [
                *("step-start", "text", "tool-weather", "step-start", "text"),
            ]

    asyncio.run(main())
