"""An async stream on its way to a client is recorded to its end, though the client goes away half-way."""

import asyncio

from palaver import aio


async def model():
    yield {"type": "start"}
    yield {"type": "text-start", "id": "t"}
    for word in ["Every", "word", "is", "kept", "."]:
        yield {"type": "text-delta", "id": "t", "delta": word + " "}
    yield {"type": "finish"}


async def main() -> None:
    async with await aio.open(":memory:") as store:
        session = await store.sessions.create("coder")
        recording = await aio.record(session, "Are you sure?", model())
        async for chunk in recording:
            if chunk.get("delta") == "word ":
                break  # the client has gone
        await recording.wait()
        print((await session.messages())[-1]["parts"][0]["text"])


asyncio.run(main())
