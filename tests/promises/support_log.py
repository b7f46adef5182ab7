"""A talk in a store that keeps everything, with every kind of change to a contract row in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import palaver

LONG = 600  # characters: more than a line of the journal writes out again
Chunk = dict[str, Any]


def keeping(path: str) -> palaver.Store:
    """Each chunk brings its part's row up to date, so that there is much to journal."""
    return palaver.open(path, events="full", save_buffer_ms=0, durability="normal", recover_every=None)


def text(words: str, pieces: int) -> Iterator[Chunk]:
    yield {"type": "text-start", "id": "t"}
    for at in range(0, len(words), len(words) // pieces):
        yield {"type": "text-delta", "id": "t", "delta": words[at : at + len(words) // pieces]}
    yield {"type": "text-end", "id": "t"}


def talk(store: palaver.Store) -> palaver.Session:
    session = store.sessions.create("coder", title="A talk")
    session.commit(["hello", {"role": "assistant", "parts": [{"type": "text", "text": "a" * LONG}]}])
    with session.turn("tell me", model="acme/one") as turn:
        turn.write({"type": "start", "messageMetadata": {"began": True}})
        turn.append(text("w" * LONG, 3))
        turn.usage(input=10, output=5, cost_usd=0.1)
    _race(session)
    waits = session.turn("do it")
    call = {"toolCallId": "c1", "toolName": "run"}
    waits.append([{"type": "tool-input-available", **call, "input": {"command": "l" * LONG}}, {"type": "finish"}])
    waits.resolve("c1", output="o" * LONG)
    session.resume(waits.id).seal()
    session.fork(copy=True).rewind(to=session.path()[0])
    session.rewind(to=session.path()[1])
    return session


def _race(session: palaver.Session) -> None:
    first, second = session.turn("one"), session.turn("two")
    for chunks in zip(text("1" * LONG, 3), text("2" * LONG, 3), strict=True):
        first.write(chunks[0])
        second.write(chunks[1])
    first.seal()
    with pytest.raises(palaver.HeadConflict):
        second.seal()
