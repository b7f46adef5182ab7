"""Windows through other doors: asyncio, and a store that sessions were copied into."""

from __future__ import annotations

import asyncio
from io import BytesIO
from pathlib import Path

import pytest

import palaver
from palaver import aio, exports

from ..tools.talk import texts


def lose(session: palaver.Session, count: int) -> list[str]:
    """So many strays, in the order that they were left."""
    turns = [session.turn(f"lost {number}") for number in range(count)]
    session.commit("won")
    for turn in turns:
        with pytest.raises(palaver.HeadConflict):
            turn.seal()
    return [turn.id for turn in turns]


def test_strays_are_known_where_a_session_was_brought_in(store: palaver.Store, tmp_path: Path) -> None:
    session, out = store.sessions.create("coder"), BytesIO()
    lost = lose(session, 3)
    exports.write(store.db, out)
    out.seek(0)
    with palaver.open(tmp_path / "other.db") as other:
        exports.read(other.db, out)
        there = other.sessions.get(session.id)
        assert [turn.id for turn in there.strays()] == [turn.id for turn in session.strays()] == lost
        assert [turn.id for turn in there.strays(limit=1)] == lost[-1:]
        assert {turn.id for turn in there.tree()} == {turn.id for turn in session.tree()}


def test_strays_are_known_in_a_copy(store: palaver.Store) -> None:
    session = store.sessions.create("coder")
    lost = lose(session, 2)
    with palaver.open(":memory:") as other:
        assert palaver.copy(store, other).copied == 1
        assert [turn.id for turn in other.sessions.get(session.id).strays()] == lost


def test_windows_are_awaited(path: str) -> None:
    async def read() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            for number in range(5):
                await session.commit(str(number))
            page = await session.messages(limit=2)
            assert (texts(page), page.after) == (["3", "4"], None)
            assert texts(await session.messages(before=page.before, limit=2)) == ["1", "2"]
            assert [turn.depth for turn in await session.path(after="", limit=2)] == [1, 2]
            assert [part["data"]["text"] for part in await session.parts("text", limit=1)] == ["4"]
            assert [line.kind for line in await session.history(limit=1)] == ["seal"]

    asyncio.run(read())
