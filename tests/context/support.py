"""Talks to compact: turns of a question and an answer, tool calls in every state, and how a context reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import apsw

import palaver

from ..tools.chunks import result, step, text
from ..tools.sql import query
from ..tools.talk import feed

Chunk = dict[str, Any]
START: list[Chunk] = [{"type": "start"}, {"type": "start-step"}]
END_STEP: Chunk = {"type": "finish-step"}


# ---------------------------------------------------------------- streams


def call(name: str, **more: Any) -> Chunk:
    return {"type": "tool-input-available", "toolCallId": name, "toolName": "run", "input": {"n": 1}, **more}


def talk(session: palaver.Session, name: str, *, tool: bool = False, **setup: Any) -> str:
    """The turn `q<name>`, `a<name>`; with a tool call between them if asked for. Its id."""
    ran = step(call(f"c{name}"), result(f"c{name}", f"output {name}")) if tool else []
    with session.turn(f"q{name}", **setup) as turn:
        feed(turn, [{"type": "start"}, *ran, *step(*text(f"a{name}"))])
    return turn.id


def talks(session: palaver.Session, *names: int | str, tool: bool = False) -> list[str]:
    return [talk(session, str(name), tool=tool) for name in names]


# ---------------------------------------------------------------- as it reads


def words(messages: list[dict[str, Any]]) -> list[str]:
    """`role: texts` of each message; other parts by their kind, steps left out."""
    found = []
    for message in messages:
        parts = [part for part in message["parts"] if part["type"] != "step-start"]
        found.append(f"{message['role']}: " + " ".join(part.get("text", part["type"]) for part in parts))
    return found


def said(*names: int | str) -> list[str]:
    """What `talks` of these names reads as."""
    return [line for name in names for line in (f"user: q{name}", f"assistant: a{name}")]


def outputs(messages: list[dict[str, Any]]) -> list[Any]:
    return [part["output"] for message in messages for part in message["parts"] if "output" in part]


def kinds(session: palaver.Session) -> list[str]:
    return [turn.kind for turn in session.path()]


def details(session: palaver.Session) -> dict[str, Any]:
    """The data of the newest compaction that the transcript shows."""
    parts = [part for message in session.messages() for part in message["parts"] if part["type"] == "data-compaction"]
    found: dict[str, Any] = parts[-1]["data"]
    return found


def unanswered(messages: list[dict[str, Any]]) -> list[str]:
    """The tool calls in model messages that no result follows. A provider that runs a tool is told a no by itself."""
    open_calls: list[str] = []
    asked: dict[str, str] = {}
    for message in messages:
        for piece in message["content"] if isinstance(message["content"], list) else ():
            if piece["type"] == "tool-call":
                open_calls.append(piece["toolCallId"])
            elif piece["type"] == "tool-approval-request":
                asked[piece["approvalId"]] = piece["toolCallId"]
            elif piece["type"] == "tool-approval-response" and piece.get("providerExecuted") and not piece["approved"]:
                open_calls.remove(asked[piece["approvalId"]])
            elif piece["type"] == "tool-result":
                open_calls.remove(piece["toolCallId"])
    return open_calls


# ---------------------------------------------------------------- plain SQL


@contextmanager
def plain(path: str, *, writes: bool = False) -> Iterator[apsw.Connection]:
    flags = apsw.SQLITE_OPEN_READWRITE if writes else apsw.SQLITE_OPEN_READONLY
    db = apsw.Connection(path, flags=flags)
    db.set_busy_timeout(10_000)
    try:
        yield db
    finally:
        db.close()


WALK = """
WITH RECURSIVE walk (id, parent_id, kind, n) AS (
    SELECT t.id, t.parent_id, t.kind, 0 FROM heads h JOIN turns t ON t.id = h.turn_id WHERE h.session_id = ?
    UNION ALL
    SELECT t.id, t.parent_id, t.kind, n + 1 FROM turns t JOIN walk ON t.id = walk.parent_id
)
SELECT id FROM walk ORDER BY n DESC
"""


def walked(path: str, session: palaver.Session) -> list[str]:
    """From the root to the head, by plain SQL."""
    return [row[0] for row in query(path, WALK, session.id)]
