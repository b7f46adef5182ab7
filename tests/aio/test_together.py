"""Chunks of many tasks share transactions; each of them ends as if its turn had been alone."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from typing import Any

import apsw
import pytest

import palaver
from palaver import aio
from palaver.awaited import crew
from palaver.errors import ChunkError, StoreBusy, TurnSealed
from palaver.streaming import batch

from ..tools.chunks import delta
from ..tools.sql import query
from .support import CREW, END, START, answer, run, said, stored

STREAMS = 32


async def begin(store: aio.AsyncStore, count: int = STREAMS) -> list[Any]:
    turns = [await (await store.sessions.create("coder")).turn(f"question {n}") for n in range(count)]
    for turn in turns:
        await turn.append([*START, delta("")])
    return turns


async def write(turn: Any, count: int) -> None:
    for n in range(count):
        await turn.write(delta(f"{n},"))


def transactions(store: aio.AsyncStore) -> int:
    return int(store._inner._engine.writes)


def test_thirty_two_tasks_share_their_transactions(path: str) -> None:
    async def storm() -> tuple[list[str], int]:
        async with await aio.open(path) as store:
            turns = await begin(store)
            before = transactions(store)
            await asyncio.gather(*(write(turn, 50) for turn in turns))
            return [turn.id for turn in turns], transactions(store) - before

    turns, count = run(storm())
    assert count < STREAMS * 50 / 8, "far fewer transactions than chunks"
    with palaver.open(path) as store:
        assert store.verify() == []
    for turn in turns:
        assert [chunk["delta"] for chunk in stored(path, turn)[3:]] == [f"{n}," for n in range(50)]


def test_a_chunk_is_in_the_store_when_its_write_returns(path: str) -> None:
    async def storm() -> None:
        async with await aio.open(path) as store:

            async def look(turn: Any) -> None:
                for n in range(10):
                    await turn.write(delta(f"{n},"))
                    assert len(stored(path, turn.id)) == 3 + n + 1

            await asyncio.gather(*map(look, await begin(store, 8)))

    run(storm())


def test_the_rows_of_parts_follow(path: str) -> None:
    """What another program reads while it streams is not far behind, and whole after the seal."""

    async def storm() -> list[str]:
        async with await aio.open(path, save_buffer_ms=0) as store:
            turns = await begin(store, 8)
            await asyncio.gather(*(write(turn, 30) for turn in turns))
            assert [answer(path, turn.id) for turn in turns] == [said(30)] * 8
            for turn in turns:
                await turn.append(END)
                await turn.seal()
            return [turn.id for turn in turns]

    turns = run(storm())
    assert [answer(path, turn) for turn in turns] == [said(30)] * 8
    with palaver.open(path) as store:
        assert store.verify() == []


def test_everything_is_kept_that_a_full_log_is_rebuilt_from(path: str) -> None:
    async def storm() -> None:
        async with await aio.open(path, events="full", save_buffer_ms=0) as store:
            turns = await begin(store, 8)
            await asyncio.gather(*(write(turn, 20) for turn in turns))
            for turn in turns:
                await turn.append(END)
                await turn.seal()

    run(storm())
    with palaver.open(path) as store:
        before = query(path, "SELECT * FROM chat_parts ORDER BY id")
        for info in store.sessions:
            store.rebuild(info.id)
        assert query(path, "SELECT * FROM chat_parts ORDER BY id") == before
        assert store.verify() == []


def test_an_error_of_one_is_not_an_error_of_the_others(path: str) -> None:
    async def storm() -> tuple[list[Any], list[Any]]:
        async with await aio.open(path) as store:
            turns = await begin(store, 6)
            await turns[2].seal()
            given: list[Any] = [delta("well, ") for _ in turns]
            given[1] = {"type": "text-delta", "id": "nobody", "delta": "lost"}
            given[4] = 7
            ends = await asyncio.gather(
                *(turn.write(chunk) for turn, chunk in zip(turns, given, strict=True)), return_exceptions=True
            )
            await asyncio.gather(*(turn.write(delta("good")) for turn in turns if turn is not turns[2]))
            return ends, [(await turn.message())["parts"][-1]["text"] for turn in turns]

    ends, texts = run(storm())
    assert [type(end) for end in ends] == [type(None), ChunkError, TurnSealed, type(None), ChunkError, type(None)]
    assert texts == ["well, good", "good", "", "well, good", "good", "well, good"]


def test_chunks_of_one_turn_that_are_written_at_once_keep_their_order(path: str) -> None:
    async def storm() -> str:
        async with await aio.open(path) as store:
            (turn,) = await begin(store, 1)
            await asyncio.gather(*(turn.write(delta(f"{n},")) for n in range(40)), turn.append(END), turn.seal())
            return str(turn.id)

    assert answer(path, run(storm())) == said(40)


def test_a_seal_waits_for_the_chunks_before_it_and_a_chunk_for_the_verbs_before_it(path: str) -> None:
    async def storm() -> str:
        async with await aio.open(path) as store:
            (turn,) = await begin(store, 1)
            await asyncio.gather(
                turn.write(delta("0,")), turn.append([delta("1,"), delta("2,")]), turn.write(delta("3,")), turn.seal()
            )
            return str(turn.id)

    assert answer(path, run(storm())) == said(4)


def test_two_turns_of_one_session_do_not_take_each_others_numbers(path: str) -> None:
    async def storm() -> list[str]:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            turns = [await session.turn("left"), await session.turn("right")]
            for turn in turns:
                await turn.append([*START, delta("")])
            await asyncio.gather(*(write(turn, 40) for turn in turns))
            return [(await turn.message())["parts"][-1]["text"] for turn in turns]

    assert run(storm()) == [said(40)] * 2


def test_a_locked_store_refuses_all_of_them_and_loses_nothing(path: str) -> None:
    async def storm() -> tuple[list[Any], list[int]]:
        async with await aio.open(path, timeout=0.2) as store:
            turns = await begin(store, 5)
            with closing(apsw.Connection(path)) as other:
                other.execute("BEGIN IMMEDIATE")
                writes = [turn.write(delta("0,")) for turn in turns]
                ends = await asyncio.gather(*writes, return_exceptions=True)
            await asyncio.gather(*(turn.write(delta("1,")) for turn in turns))
            return ends, [await turn.chunks for turn in turns]

    ends, counts = run(storm())
    assert all(isinstance(end, StoreBusy) for end in ends)
    assert counts == [4] * 5


def test_every_chunk_that_was_acknowledged_survives_kill_9(path: str) -> None:
    with CREW.start("tell_many", path=path) as teller:
        lines = [teller.hear() for _ in range(400)] + teller.kill()
    acknowledged: dict[str, int] = {}
    for turn, number in lines:
        acknowledged[turn] = number
    assert len(acknowledged) == STREAMS
    for turn, number in acknowledged.items():
        deltas = [json.loads(row[0])["delta"] for row in chunks_of(path, turn)]
        assert deltas[: number + 1] == [f"{n}," for n in range(number + 1)]
        assert len(deltas) <= number + 2, "only one may have been under way"
    with palaver.open(path) as store:
        assert store.verify() == []


def chunks_of(path: str, turn: str) -> list[tuple[Any, ...]]:
    text = (
        "SELECT e.data FROM turns t JOIN events e ON e.session_id = t.session_id AND e.turn = t.begin_seq"
        " WHERE t.id = ? AND e.kind = 'chunk' ORDER BY e.seq LIMIT -1 OFFSET 3"
    )
    return query(path, text, turn)


def test_what_is_shared_is_undone_for_all_and_told_to_each(store: palaver.Store, monkeypatch: Any) -> None:
    """A planted error in the middle of a transaction: none of its chunks is there, and each can be sent again."""
    turns = [store.sessions.create("coder").turn("go") for _ in range(3)]
    for turn in turns:
        turn.append([*START, delta("")])
    with monkeypatch.context() as patch:
        patch.setattr(store._engine, "append_all", explode)
        ends = batch.write_chunks([(turn, delta("x")) for turn in turns])
    assert [str(end) for end in ends] == ["planted"] * 3
    assert batch.write_chunks([(turn, delta("y")) for turn in turns]) == [None] * 3
    assert [turn.message()["parts"][-1]["text"] for turn in turns] == ["y"] * 3


def test_a_bug_below_is_told_to_all_who_wait_and_the_store_closes(path: str, monkeypatch: Any) -> None:
    async def storm() -> list[Any]:
        async with await aio.open(path) as store:
            turns = await begin(store, 3)
            with monkeypatch.context() as patch:
                patch.setattr(crew, "write_chunks", explode)
                return await asyncio.gather(*(turn.write(delta("x")) for turn in turns), return_exceptions=True)

    assert [str(end) for end in run(storm())] == ["planted"] * 3


def explode(rows: Any) -> Any:
    raise palaver.StoreError("planted")


@pytest.mark.parametrize("durability", ["normal", "boundary", "full"])
def test_durability_makes_no_difference_to_what_is_read(path: str, durability: str) -> None:
    async def storm() -> list[str]:
        async with await aio.open(path, durability=durability) as store:
            turns = await begin(store, 8)
            await asyncio.gather(*(write(turn, 10) for turn in turns))
            return [(await turn.message())["parts"][-1]["text"] for turn in turns]

    assert run(storm()) == [said(10)] * 8
