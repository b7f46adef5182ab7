"""The agent of the demo: a process of its own that streams into a store until it ends, or is killed.

It prints every chunk after the store acknowledged it: what a client would have seen.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import palaver

PLAN = (
    "I will look at the failing test first, then at the linker flags, then at the cache, and I will write down "
    "everything I find on the way so that nobody has to look for it twice"
)


def stream() -> Iterator[dict[str, Any]]:
    yield {"type": "start"}
    yield {"type": "start-step"}
    yield {"type": "reasoning-start", "id": "r"}
    yield {"type": "reasoning-delta", "id": "r", "delta": "The build fails since this morning. "}
    yield {"type": "reasoning-end", "id": "r"}
    yield {"type": "tool-input-start", "toolCallId": "call-1", "toolName": "read"}
    yield {"type": "tool-input-delta", "toolCallId": "call-1", "inputTextDelta": '{"path": "Make'}
    yield {"type": "tool-input-delta", "toolCallId": "call-1", "inputTextDelta": 'file"}'}
    yield {
        "type": "tool-input-available",
        "toolCallId": "call-1",
        "toolName": "read",
        "input": {"path": "Makefile"},
    }
    yield {"type": "text-start", "id": "t"}
    for word in PLAN.split():
        yield {"type": "text-delta", "id": "t", "delta": word + " "}
    yield {"type": "text-end", "id": "t"}
    yield {"type": "finish-step"}
    yield {"type": "finish", "finishReason": "stop"}


def main(path: str, session_id: str, question: str) -> None:
    with palaver.open(path) as store:
        turn = store.sessions.get(session_id).turn(question)
        for chunk in stream():
            turn.write(chunk)
            print(json.dumps(chunk), flush=True)
            time.sleep(0.02)
        turn.seal()


if __name__ == "__main__":
    main(*sys.argv[1:])
