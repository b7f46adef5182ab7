"""What the tests about saving share: chunks, plain SQL, bounded waiting, threads whose errors are seen."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import palaver

from ..tools.chunks import delta
from ..tools.sql import query

PATIENCE = 30.0
NEVER = 1e9  # seconds: housekeeping that does not come
Chunk = dict[str, Any]
Begin = Callable[..., tuple[palaver.Session, palaver.Turn]]  # the fixture of that name

START = [{"type": "start-step"}, {"type": "text-start", "id": "t"}]
CALL = {"type": "tool-input-available", "toolCallId": "c", "toolName": "run", "input": {"a": 1}}
RESULT = {"type": "tool-output-available", "toolCallId": "c", "output": 2}
STEP_ENDS, ENDS = {"type": "finish-step"}, {"type": "finish"}


def words(count: int) -> list[Chunk]:
    return [delta(f"word {n} ") for n in range(count)]


def stored(path: str) -> list[Chunk]:
    """The chunks in the file, in the order of their numbers."""
    return [json.loads(row[0]) for row in query(path, "SELECT data FROM events WHERE kind = 'chunk' ORDER BY seq")]


def text_of(session: palaver.Session) -> str:
    """What the answers say."""
    parts = [part for message in session.messages() if message["role"] == "assistant" for part in message["parts"]]
    return "".join(part["text"] for part in parts if part["type"] == "text")


def maintainers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "palaver-maintenance"]
