"""Tasks of one event loop that stream into Postgres: their chunks, and the rows of parts that are due, go together."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import palaver
from palaver import aio
from palaver.db.postgres.pipeline import Pipeline
from palaver.db.queries import Q
from palaver.streaming import batch

START: list[dict[str, Any]] = [{"type": "start"}, {"type": "text-start", "id": "t"}]
WORDS = [f'{n} "\\ é\x00 ' for n in range(30)]


def delta(text: str) -> dict[str, Any]:
    return {"type": "text-delta", "id": "t", "delta": text}


async def stream(turn: Any) -> None:
    await turn.append([*START, delta("")])
    for word in WORDS:
        await turn.write(delta(word))


async def texts_of(dsn: str, **options: Any) -> list[str]:
    async with await aio.open(dsn, **options) as store:
        turns = [await (await store.sessions.create("coder")).turn("go") for _ in range(16)]
        await asyncio.gather(*map(stream, turns))
        found = [await (await store.sessions.get(turn.session_id)).messages() for turn in turns]
        for turn in turns:
            await turn.seal()
        return [messages[-1]["parts"][0]["text"] for messages in found]


def rows_of_parts(dsn: str) -> list[str]:
    with palaver.open(dsn) as store:
        found = [store.sessions.get(info.id).messages()[-1]["parts"][0]["text"] for info in store.sessions]
        assert store.verify() == []
        return found


@pytest.mark.parametrize("buffer_ms", [0, 50, 10_000])
def test_sixteen_tasks_stream_and_nothing_is_lost(dsn: str, buffer_ms: int) -> None:
    """With a buffer of 0 ms the row of the part goes with every chunk, in the same statement."""
    assert asyncio.run(texts_of(dsn, save_buffer_ms=buffer_ms)) == ["".join(WORDS)] * 16
    assert rows_of_parts(dsn) == ["".join(WORDS)] * 16


def test_sixteen_tasks_behind_a_pooler(dsn: str) -> None:
    assert asyncio.run(texts_of(dsn, pooler=True)) == ["".join(WORDS)] * 16


def test_a_batch_is_one_round_trip(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with palaver.open(dsn, save_buffer_ms=0) as store:
        turns = [store.sessions.create("coder").turn("go") for _ in range(8)]
        for turn in turns:
            turn.append([*START, delta("")])
        real, sent = Pipeline.send, list[int]()

        def send(self: Pipeline, steps: Any, patience: float) -> Any:
            sent.append(len(steps))
            return real(self, steps, patience)

        with monkeypatch.context() as patch:
            patch.setattr(Pipeline, "send", send)
            assert batch.write_chunks([(turn, delta("x")) for turn in turns]) == [None] * 8
        assert len(sent) == 1


def test_the_row_of_a_part_is_left_alone_where_its_chunk_is_not_taken(dsn: str) -> None:
    """Another process sealed the turn: neither the chunk nor the part's row may change it."""
    with palaver.open(dsn, save_buffer_ms=0) as store, palaver.open(dsn) as other:
        turns = [store.sessions.create("coder").turn("go") for _ in range(2)]
        for turn in turns:
            turn.append([*START, delta("kept")])
        with other._engine.write() as tx:
            fence = turns[0]._state.fence
            assert tx.run(Q.set_status, status="streaming", owner="somebody", turn=turns[0].id, fence=fence)
        ends = batch.write_chunks([(turn, delta(" and more")) for turn in turns])
        assert [type(end).__name__ for end in ends] == ["TurnSealed", "NoneType"]
        texts = [other.sessions.get(turn.session_id).messages()[-1]["parts"][0]["text"] for turn in turns]
        assert texts == ["kept", "kept and more"]
