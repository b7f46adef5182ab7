"""The same verbs with `await` before them: every method and property of the library, its answers and its errors."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

import palaver
from palaver import aio
from palaver.errors import BadRule, HeadConflict, SessionNotFound, StoreClosed, TurnSealed
from palaver.sessions import Sessions

from ..tools.chunks import delta
from .support import END, START, answer, run, said, status, words


def test_a_conversation_is_the_same_as_without_asyncio(path: str) -> None:
    async def talk() -> tuple[str, list[dict[str, Any]]]:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder", title="Talk")
            async with await session.turn("Hello?") as turn:
                for chunk in words(5):
                    await turn.write(chunk)
                await turn.usage(input=3, output=4)
            assert await turn.status == "completed"
            assert await session.title == "Talk"
            assert (await session.info).usage.total == 7
            assert [t.id for t in await session.path()] == [turn.id]
            return session.id, await session.messages()

    session_id, messages = run(talk())
    with palaver.open(path) as store:
        assert store.sessions.get(session_id).messages() == messages
    assert messages[-1]["parts"][-1]["text"] == said(5)


BOTH = {"follow", "list"}  # awaited, or gone through with `async for` as they are


@pytest.mark.parametrize("kind", [palaver.Store, Sessions, palaver.Session, palaver.Turn])
def test_every_public_method_is_a_coroutine_here(path: str, kind: type) -> None:
    async def look() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            turn = await session.turn("hello")
            proxy = {palaver.Store: store, Sessions: store.sessions, palaver.Session: session, palaver.Turn: turn}[kind]
            verbs = [n for n, v in vars(kind).items() if inspect.isfunction(v) and not n.startswith("_")]
            assert verbs
            for name in verbs:
                call = getattr(proxy, name)
                assert inspect.iscoroutinefunction(getattr(call, "func", call)) or name in BOTH, name

    run(look())


def test_what_comes_back_can_be_awaited_too(path: str) -> None:
    async def walk() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            async with await session.turn("one") as turn:
                await turn.append(words(1))
            fork = await session.fork()
            assert len(await fork.messages()) == 2
            again = await session.regenerate()
            await again.append([*START, delta("again"), *END])
            await again.seal()
            assert (await session.messages())[-1]["parts"][-1]["text"] == "again"
            await session.enqueue("next")
            async with await session.claim() as claimed:
                await claimed.append(words(1))
            assert len(await session.path()) == 2
            await session.set("title", "Named")
            assert await (await store.sessions.get(session.id)).title == "Named"
            assert await session.permissions.add("bash", "git *")
            assert (await session.permissions.evaluate("bash", argv="git push")).allowed
            moment = await session.at(4_000_000_000_000)
            assert len(await moment.messages()) == 4

    run(walk())


def test_an_attribute_that_is_set_is_not_silently_lost(path: str) -> None:
    async def name() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder", title="Old")
            with pytest.raises(AttributeError):
                session.title = "New"
            assert await session.title == "Old"

    run(name())


def test_sessions_are_iterated_over(path: str) -> None:
    async def look() -> set[str]:
        async with await aio.open(path) as store:
            made = {(await store.sessions.create("coder")).id for _ in range(3)}
            assert {info.id async for info in store.sessions} == made
            return made

    assert len(run(look())) == 3


def test_a_session_is_given_where_one_is_taken(path: str) -> None:
    async def spawn() -> None:
        async with await aio.open(path) as store:
            parent = await store.sessions.create("coder")
            child = await store.sessions.create("helper", parent=parent)
            assert (await child.info).parent_id == parent.id

    run(spawn())


# ---------------------------------------------------------------- errors


def test_errors_come_through(path: str) -> None:
    async def fail() -> None:
        async with await aio.open(path) as store:
            with pytest.raises(SessionNotFound):
                await store.sessions.get("nobody")
            session = await store.sessions.create("coder")
            with pytest.raises(BadRule):
                await session.permissions.add("bash", action="perhaps")
            first, second = await session.turn("one"), await session.turn("two")
            await first.seal()
            with pytest.raises(HeadConflict):
                await second.seal()
            with pytest.raises(TurnSealed):
                await first.write({"type": "start"})
            with pytest.raises(AttributeError):
                _ = session.no_such_thing
            with pytest.raises(TypeError):
                await session.messages(1, 2, 3, 4, 5)

    run(fail())


def test_a_bad_chunk_is_refused_and_the_turn_goes_on(path: str) -> None:
    async def fail() -> str:
        async with await aio.open(path) as store, await (await store.sessions.create("coder")).turn("hi") as turn:
            await turn.append(START)
            with pytest.raises(palaver.PalaverError):
                await turn.write({"type": "text-delta", "id": "never begun", "delta": "x"})
            await turn.write(delta("fine"))
        return str(turn.id)

    assert answer(path, run(fail())) == "fine"


def test_a_file_that_is_no_store_is_refused(tmp_path: Any) -> None:
    (tmp_path / "x.db").write_text("this is no database, whatever its name says " * 50)
    with pytest.raises(palaver.PalaverError):
        run(aio.open(str(tmp_path / "x.db")))


# ---------------------------------------------------------------- blocks


def test_leaving_the_block_seals(path: str) -> None:
    async def leave() -> str:
        async with await aio.open(path) as store, await (await store.sessions.create("coder")).turn("hi") as turn:
            await turn.append(words(3))
        return str(turn.id)

    turn = run(leave())
    assert (status(path, turn), answer(path, turn)) == ("completed", "0,1,2,")


def test_leaving_it_by_an_exception_aborts_and_the_exception_goes_on(path: str) -> None:
    async def leave() -> str:
        async with await aio.open(path) as store:
            turn = await (await store.sessions.create("coder")).turn("hi")
            with pytest.raises(ZeroDivisionError):
                async with turn:
                    await turn.append([*START, delta("so far")])
                    raise ZeroDivisionError
            return str(turn.id)

    turn = run(leave())
    assert (status(path, turn), answer(path, turn)) == ("aborted", "so far")


def test_leaving_it_by_a_cancellation_aborts(path: str) -> None:
    async def leave() -> str:
        async with await aio.open(path) as store:
            turn = await (await store.sessions.create("coder")).turn("hi")

            async def work() -> None:
                async with turn:
                    await turn.append([*START, delta("so far")])
                    await asyncio.sleep(3600)

            task = asyncio.ensure_future(work())
            while await turn.stored < 3:
                await asyncio.sleep(0.005)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await turn.status == "aborted"
            return str(turn.id)

    assert answer(path, run(leave())) == "so far"


def test_leaving_the_stores_block_ends_what_is_open(path: str) -> None:
    async def leave() -> str:
        async with await aio.open(path) as store:
            turn = await (await store.sessions.create("coder")).turn("hi")
            await turn.append([*START, delta("so far")])
            return str(turn.id)

    turn = run(leave())
    assert (status(path, turn), answer(path, turn)) == ("aborted", "so far")


def test_closing_twice_does_nothing_and_what_follows_says_closed(path: str) -> None:
    async def close() -> None:
        async with await aio.open(path) as store:
            session = await store.sessions.create("coder")
            turn = await session.turn("hi")
            await store.close()
            await store.close()
            with pytest.raises(StoreClosed):
                await store.sessions.create("coder")
            with pytest.raises(StoreClosed):
                await session.messages()
            with pytest.raises((StoreClosed, TurnSealed)):
                await turn.write({"type": "start"})

    run(close())
