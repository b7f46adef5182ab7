"""Palaver at durability="normal": the column to hold against raw_sqlite3."""

from __future__ import annotations

import time

import palaver

from ..protocol import Adapter

TYPE_CHECKING = False  # a cold start is timed here: nothing is imported that the store does not need
if TYPE_CHECKING:
    from typing import Any

    from ..protocol import Message

_BEGINNING = [{"type": "start"}, {"type": "text-start", "id": "t"}, {"type": "text-delta", "id": "t", "delta": "So"}]
CAN = {"append", "load", "turn", "stream", "streams", "list", "fork", "storm", "cold"}


class Store(Adapter):
    can = frozenset(CAN)
    notes = {"append": "one message is one committed turn", "fork": "one row and one head"}
    durability = "normal"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.store = palaver.open(path, durability=self.durability)
        self.sessions: dict[str, palaver.Session] = {}
        self.ids: dict[str, list[str]] = {}

    def close(self) -> None:
        self.store.close()

    def new_session(self, sid: str) -> None:
        session = self.store.sessions.create(agent="bench", workspace="/w")
        session.alias(sid)
        self.sessions[sid] = session

    def attach(self, sid: str) -> None:
        self.sessions[sid] = self.store.sessions.find(sid, "alias")

    def append(self, sid: str, message: Message) -> None:
        self.sessions[sid].commit(message)

    def append_many(self, sid: str, messages: list[Message]) -> None:
        """A question and its answer are a turn."""
        for at in range(0, len(messages), 2):
            self.sessions[sid].commit(messages[at : at + 2])

    def load(self, sid: str) -> list[Any]:
        if sid not in self.sessions:
            self.attach(sid)
        return self.sessions[sid].messages()

    # ------------------------------------------------------------ turns

    def prepare_turn(self, user: Message, answer: Message) -> Any:
        text = answer["parts"][0]["text"]
        return user, [
            {"type": "start"},
            {"type": "text-start", "id": "t"},
            {"type": "text-delta", "id": "t", "delta": text},
            {"type": "text-end", "id": "t"},
            {"type": "finish"},
        ]

    def turn(self, sid: str, prepared: Any) -> None:
        """Three transactions: the question, the answer's chunks, the seal."""
        user, chunks = prepared
        turn = self.sessions[sid].turn(user)
        turn.append(chunks)
        turn.seal()

    def commit(self, sid: str, messages: list[Message]) -> None:
        self.sessions[sid].commit(messages)

    # ------------------------------------------------------------ streams

    def stream_open(self, sid: str, text: str) -> None:
        self.open_turn = _begin(self.sessions[sid], text)

    def stream_chunk(self, delta: str) -> None:
        self.open_turn.write({"type": "text-delta", "id": "t", "delta": delta})

    def stream_close(self) -> None:
        self.open_turn.seal()

    def streams_open(self, count: int) -> None:
        self.open_turns = [_begin(self.store.sessions.create("bench"), "") for _ in range(count)]

    def stream_to(self, which: int, delta: str) -> None:
        self.open_turns[which].write({"type": "text-delta", "id": "t", "delta": delta})

    def in_tasks(self, streams: int, count: int, delta: str) -> float:
        """The same as tasks of one event loop; the seconds that the chunks took."""
        import asyncio

        return asyncio.run(self._in_tasks(streams, count, {"type": "text-delta", "id": "t", "delta": delta}))

    async def _in_tasks(self, streams: int, count: int, chunk: dict[str, Any]) -> float:
        import asyncio

        from palaver import aio

        async def stream(turn: Any) -> None:
            for _ in range(count):
                await turn.write(chunk)

        async with await aio.open(*self.where(), durability=self.durability) as store:
            turns = [await _begin_async(await store.sessions.create("bench")) for _ in range(streams)]
            began = time.perf_counter()
            await asyncio.gather(*map(stream, turns))
            seconds = time.perf_counter() - began
            for turn in turns:
                await turn.seal()
            return seconds

    def where(self) -> tuple[str, ...]:
        return (self.path,)

    def settle(self) -> None:
        trim = getattr(self.store, "trim", None)
        if trim:
            trim(0)

    # ------------------------------------------------------------ listing and forking

    def fill_sessions(self, count: int) -> None:
        """Through the public API, on a turned clock: last updates are spread over the file as in the raw column. Only
        the newest 2,000 get their first message, to save half of the time; a page shows 50."""
        from palaver.base import clock

        real, base = clock._now_ns, time.time_ns() // 1_000_000 - count
        try:
            for i in range(count):
                place = i * 7919 % count
                clock._now_ns = lambda place=place: (base + place) * 1_000_000
                session = self.store.sessions.create("bench", workspace="/w", title=f"Session {i}")
                if place >= count - 2_000:
                    session.commit(f"please fix the failing deploy number {i} and report")
        finally:
            clock._now_ns = real

    def list_recent(self, count: int) -> list[Any]:
        return list(self.store.sessions.list(agent="bench", limit=count).sessions)

    def fork(self, sid: str, at: int) -> str:
        return self.sessions[sid].fork(at=self.message_ids(sid)[at]).id

    def message_ids(self, sid: str) -> list[str]:
        """What a client has on its screen; read once."""
        if sid not in self.ids:
            self.ids[sid] = [message["id"] for message in self.sessions[sid].messages()]
        return self.ids[sid]


def _begin(session: palaver.Session, text: str) -> palaver.Turn:
    turn = session.turn("go on")
    for chunk in (*_BEGINNING[:2], {"type": "text-delta", "id": "t", "delta": text or "So"}):
        turn.write(chunk)
    return turn


async def _begin_async(session: Any) -> Any:
    turn = await session.turn("go on")
    await turn.append(_BEGINNING)
    return turn
