"""The button "stop generating": what was said stays, the model's call is ended, and who listens is at the end.

python examples/stop_generating.py [talks.db]
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from typing import Any

from palaver import aio

Chunk = dict[str, Any]
RUNNING: dict[str, aio.AsyncRecording[Chunk]] = {}  # the recordings of this process, by chat
pressed = asyncio.Event()


async def model(question: str) -> AsyncIterator[Chunk]:
    try:
        yield {"type": "text-start", "id": "t"}
        for word in ("One, ", "two, ", "three, "):
            yield {"type": "text-delta", "id": "t", "delta": word}
        await asyncio.sleep(3600)  # it would go on for an hour
    finally:
        print("model: nobody wants more")  # where the request to the real one is closed


async def ask(store: aio.AsyncStore, chat: str, question: str) -> None:
    """What POST /chat/42 does."""
    session = await store.sessions.get_or_create(chat, agent="counter")
    recording = RUNNING[chat] = await aio.record(session, question, model(question))
    async for chunk in recording:
        print("browser:", chunk.get("delta", chunk["type"]))
        if chunk.get("delta") == "three, ":
            pressed.set()  # the user has had enough


async def stop(chat: str) -> None:
    """What POST /chat/42/stop does. If the answer is there by then, nothing happens."""
    await RUNNING[chat].stop("the user pressed stop")


async def main() -> None:
    path = sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp(prefix="palaver-") + "/talks.db"
    print("The store is", path, file=sys.stderr)
    async with await aio.open(path) as store:
        asking = asyncio.create_task(ask(store, "42", "Count to a million."))
        await pressed.wait()
        await stop("42")
        await asking  # it ended, without an error
        session = await store.sessions.get("42")
        turn = (await session.path())[-1]
        print(f"kept: {(await session.messages())[-1]['parts'][0]['text']!r} ({turn.status}: {turn.abort_reason})")


asyncio.run(main())
