"""Code as users write it, with what a type checker must say of it: `make check` has mypy and pyright read this file.

A comment that ignores an error is a claim, too: the line is wrong, and both checkers say so (an ignore that is not
needed is an error). The functions that are right also run, in test_typed_user.py.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Unpack, assert_type

import palaver
from palaver import aio, recording
from palaver.keywords import TurnKeywords

Json = dict[str, Any]


def model() -> Iterator[Json]:
    yield {"type": "text-start", "id": "t"}
    yield {"type": "text-delta", "id": "t", "delta": "Hello."}
    yield {"type": "text-end", "id": "t"}


async def async_model() -> AsyncIterator[Json]:
    for chunk in model():
        yield chunk


def ask(session: palaver.Session, question: str, **given: Unpack[TurnKeywords]) -> str:
    """A wrapper passes options on as the library takes them."""
    with session.turn(question, **given) as turn:
        assert_type(turn, palaver.Turn)
        for chunk in model():
            turn.write(chunk)
    return turn.status


# ---------------------------------------------------------------- right


def talk(path: str) -> None:
    with palaver.open(path, save_on="step", timeout=5, trim_after=0.5) as store:
        assert_type(store, palaver.Store)
        session = store.sessions.create("coder", title="Talk", metadata={"ticket": 7})
        assert_type(session, palaver.Session)
        assert_type(session.id, str)
        assert_type(session.title, str | None)
        assert_type(ask(session, "Hello?", model="acme/m", tools=["look"]), str)
        assert_type(session.messages(), list[dict[str, Any]])
        assert_type(session.info, palaver.SessionInfo)
        assert_type(session.path(), list[palaver.TurnInfo])
        assert_type(session.transcript()[0], palaver.StoredMessage)
        assert_type(session.transcript()[0].created_at, int)
        assert_type(session.fork(), palaver.Session)
        assert_type(session.at(4_000_000_000_000), palaver.Moment)
        assert_type(session.permissions, palaver.SessionRules)
        assert_type(session.permissions.evaluate("bash", argv=["ls"]), palaver.Answer)
        look_up(session)
        for info in store.sessions.list(limit=1):
            assert_type(info, palaver.SessionInfo)
        assert_type(store.sessions.get_or_create("chat-42"), palaver.Session)
        assert_type(store.verify(), list[palaver.Problem])


def look_up(session: palaver.Session) -> None:
    committed = session.commit(["one", {"role": "assistant", "parts": []}, b'{"role":"user","content":"two"}'])
    assert_type(committed, palaver.TurnInfo)
    assert_type(session.enqueue("Later.", id="q", trigger={"source": "schedule"}), palaver.Queued)
    claimed = session.claim(toolset="all")
    assert_type(claimed, palaver.Turn | None)
    if claimed is not None:
        claimed.text("Hello.")
        assert_type(claimed.tool("look", {"at": 1}), palaver.ToolCall)
        claimed.abort("enough")
    summary = session.compact("They said hello.", keep_from=committed, provider="acme", tokens_before=7)
    assert_type(summary, palaver.TurnInfo)
    context = session.context(max_tokens=1_000, count=lambda message: len(message["parts"]))
    assert_type(context, palaver.Context)
    assert_type(context[0], dict[str, Any])
    assert_type(context.left_out, int)
    assert_type(session.metadata, Mapping[str, Any])
    for event in session.follow(0, timeout=0):
        assert_type(event, palaver.Event)
    recorded = recording.record(session, "And now?", model(), agent="coder", expected=session.revision)
    assert_type(recorded, recording.Recording[Json])
    assert_type(recorded.wait(), bool)


async def async_talk(path: str) -> None:
    async with await aio.open(path, durability="normal") as store:
        assert_type(store, aio.AsyncStore)
        session = await store.sessions.create("coder", title="Talk")
        assert_type(session, aio.AsyncSession)
        assert_type(session.id, str)
        assert_type(await session.title, str | None)
        await session.set("title", "Talked")
        assert_type(await session.metadata, Mapping[str, Any])
        assert_type(await session.context(max_tokens=1_000), palaver.Context)
        async with await session.turn("Hello?", model={"provider_id": "acme", "model_id": "m"}) as turn:
            assert_type(turn, aio.AsyncTurn)
            await turn.write({"type": "start"})
            call = await turn.tool("look")
            assert_type(call, aio.AsyncToolCall)
            await call.output({"found": []})
            assert_type(turn.id, str)
            assert_type(await turn.stored, int)
        assert_type(await session.messages(), list[dict[str, Any]])
        assert_type(await session.claim(), aio.AsyncTurn | None)
        assert_type(await session.fork(at=turn), aio.AsyncSession)
        assert_type(await session.permissions.add("bash", "git *"), dict[str, Any])
        assert_type(await (await session.at(4_000_000_000_000)).messages(), list[dict[str, Any]])
        await go_through(store, session)


async def go_through(store: aio.AsyncStore, session: aio.AsyncSession) -> None:
    async for event in session.follow(after=0, timeout=0):
        assert_type(event, palaver.Event)
    async for event in await session.follow(after=0, timeout=0):
        assert_type(event, palaver.Event)
    async for info in store.sessions.list(agent="coder"):
        assert_type(info, palaver.SessionInfo)
    page = await store.sessions.list(limit=1)
    assert_type(page.sessions, list[palaver.SessionInfo])
    assert_type(page.next, str | None)
    recorded = await aio.record(session, "And now?", async_model(), agent="coder")
    assert_type(recorded, aio.AsyncRecording[Json])
    assert_type(recorded.turn, aio.AsyncTurn)
    async for chunk in recorded:
        assert_type(chunk, Json)
    await recorded.wait()


# ---------------------------------------------------------------- wrong


def slips(store: palaver.Store, session: palaver.Session) -> None:
    palaver.open("talks.db", save_in="turn")  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    palaver.open("talks.db", save_on="turns")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    session.turn("x", modle="y")  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    session.turn("x", tools=7)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    session.turn(7)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    session.commit("x", system_prompt="y")  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    session.regenerate(modle="y")  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    session.edit("m", "x", modle="y")  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    session.enqueue("x", tools=["y"])  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    session.claim(trigger={})  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    session.compact("x", token_before=7)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    recording.record(session, "x", [], modle="y")  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    session.turn("x").compact("x", bogus=1)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    session.claim().seal()  # type: ignore[union-attr] # pyright: ignore[reportOptionalMemberAccess]
    print(store.sesions)  # type: ignore[attr-defined] # pyright: ignore


async def async_slips(session: aio.AsyncSession) -> None:
    await aio.open("talks.db", save_in="turn")  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    await session.turn("x", modle="y")  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    await session.mesages()  # type: ignore[attr-defined] # pyright: ignore
    await session.set("titel", "x")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    session.title = "x"  # type: ignore[assignment, misc] # pyright: ignore[reportAttributeAccessIssue]
    print(session.turn("x").id)  # type: ignore[attr-defined] # pyright: ignore
    async for _ in aio.record(session, "x", async_model()):  # type: ignore[attr-defined] # pyright: ignore
        pass
