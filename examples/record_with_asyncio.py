"""An async stream on its way to a client is recorded to its end, though the client goes away half-way.

python examples/record_with_asyncio.py [talks.db]
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from typing import Any

from palaver import aio


async def model() -> AsyncIterator[dict[str, Any]]:
    yield {"type": "start"}
    yield {"type": "text-start", "id": "t"}
    for word in ["Every", "word", "is", "kept", "."]:
        yield {"type": "text-delta", "id": "t", "delta": word + " "}
    yield {"type": "finish"}


async def main() -> None:
    path = sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp(prefix="palaver-") + "/talks.db"
    print("The store is", path, file=sys.stderr)
    async with await aio.open(path) as store:
        session = await store.sessions.create("coder")
        recording = await aio.record(session, "Are you sure?", model())
        async for chunk in recording:
            if chunk.get("delta") == "word ":
                print("the client has gone")
                break
        await recording.wait()
        print("kept:", (await session.messages())[-1]["parts"][0]["text"])


asyncio.run(main())
