"""Record the stream of an AI SDK model as it is. Every chunk is on disk before the next one is asked for.

python examples/record_a_stream.py [talks.db]
"""

import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import palaver


def model(question: str) -> Iterator[dict[str, Any]]:
    """Stands for a model: any source of AI SDK UI-message chunks will do, as dicts or as JSON text."""
    yield {"type": "start"}
    yield {"type": "start-step"}
    yield {"type": "tool-input-available", "toolCallId": "c1", "toolName": "clock", "input": {"zone": "UTC"}}
    yield {"type": "tool-output-available", "toolCallId": "c1", "output": "12:00"}
    yield {"type": "text-start", "id": "t"}
    for word in ("It ", "is ", "noon."):
        yield {"type": "text-delta", "id": "t", "delta": word}
    yield {"type": "text-end", "id": "t"}
    yield {"type": "finish-step"}
    yield {"type": "finish", "finishReason": "stop"}


path = sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp(prefix="palaver-") + "/talks.db"
print("The store is", path, file=sys.stderr)
with palaver.open(path) as store:
    session = store.sessions.create(agent="clock", title="What time is it?")
    question = "What time is it?"
    with session.turn(question, model="acme/tick-1") as turn:  # the question is on disk before the model is called
        for chunk in model(question):
            turn.write(chunk)
        turn.usage(input=14, output=6)
    for message in session.messages():
        print(message["role"], [part.get("text") or part.get("output") or part["type"] for part in message["parts"]])
    print(turn.chunks, "chunks,", session.info.total_tokens, "tokens, finished with", session.path()[-1].finish)
