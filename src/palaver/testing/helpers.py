"""Small words that tests share: an agent that answers, a transcript as texts, a refusal that leaves no trace."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, Unpack

import pytest

from palaver import PalaverError, Session, Store, Turn
from palaver.keywords import MessagesLike, TurnKeywords

Json = dict[str, Any]
OpenStore = Callable[..., Store]


class Readable(Protocol):
    """A session, or a session as it was."""

    def messages(self) -> list[Json]: ...


# ---------------------------------------------------------------- an agent that talks


def answer(text: str = "Hello.", *, message_id: str | None = None) -> list[Json]:
    """The chunks of a plain answer, a word at a time."""
    start: Json = {"type": "start"} if message_id is None else {"type": "start", "messageId": message_id}
    words = re.findall(r"\S+\s*|\s+", text)
    return [
        start,
        {"type": "start-step"},
        {"type": "text-start", "id": "t"},
        *({"type": "text-delta", "id": "t", "delta": word} for word in words),
        {"type": "text-end", "id": "t"},
        {"type": "finish-step"},
        {"type": "finish", "finishReason": "stop"},
    ]


def say(turn: Turn, text: str = "Hello.", *, message_id: str | None = None) -> Turn:
    """Stream a standard answer into a turn, chunk by chunk."""
    for chunk in answer(text, message_id=message_id):
        turn.write(chunk)
    return turn


def ask(
    session: Session, question: MessagesLike = "Hello?", reply: str = "Hello.", **setup: Unpack[TurnKeywords]
) -> Turn:
    """A whole turn: a question, its streamed answer, the seal."""
    with session.turn(question, **setup) as turn:
        say(turn, reply)
    return turn


def tell(question: str, reply: str) -> list[Json]:
    """The two messages of a turn that is committed whole."""
    return [user(question), assistant(reply)]


def user(text: str, **more: Any) -> Json:
    return {"role": "user", "parts": [{"type": "text", "text": text}], **more}


def assistant(text: str, **more: Any) -> Json:
    return {"role": "assistant", "parts": [{"type": "text", "text": text}], **more}


def call(turn: Turn, call_id: str = "c1", name: str = "run", given: Any = None) -> Turn:
    """A step in which the model calls a tool and does not get a result yet."""
    turn.write({"type": "start-step"})
    turn.write({"type": "tool-input-available", "toolCallId": call_id, "toolName": name, "input": given or {"n": 1}})
    turn.write({"type": "finish-step"})
    return turn


def leave_waiting(session: Session, question: str = "Run it.", call_id: str = "c1") -> Turn:
    """A turn whose answer finished while a tool has no result."""
    with session.turn(question) as turn:
        call(turn, call_id)
        turn.write({"type": "finish", "finishReason": "tool-calls"})
    return turn


# ---------------------------------------------------------------- what a reader sees


def texts(source: Readable | Iterable[Json]) -> list[str]:
    """Each message as the text in it."""
    messages = source.messages() if hasattr(source, "messages") else source
    return ["".join(part.get("text", "") for part in message["parts"]) for message in messages]


def ids_of(session: Session) -> list[str]:
    return [message["id"] for message in session.messages()]


def tool_part(session: Session, call_id: str = "c1") -> Json:
    """The last part of a tool call on the transcript."""
    parts = [part for message in session.messages() for part in message["parts"] if part.get("toolCallId") == call_id]
    assert parts, f"no part of call {call_id}"
    last: Json = parts[-1]
    return last


def picture(session: Session) -> Json:
    """Everything that can be read of a session, to be compared with another time."""
    return {
        "info": session.info,
        "messages": session.messages_json(),
        "events": session.events(limit=1_000_000),
        "history": session.history(),
        "path": session.path(),
        "tree": session.tree(),
        "strays": session.strays(),
        "waiting": session.waiting(),
        "aliases": session.aliases(),
    }


@contextmanager
def refused(session: Session, error: type[PalaverError]) -> Iterator[pytest.ExceptionInfo[Any]]:
    """What happens inside is refused with this error, and nothing at all has changed."""
    before = picture(session)
    with pytest.raises(error) as caught:
        yield caught
    assert picture(session) == before


# ---------------------------------------------------------------- for the engine's test file


def closing(connect: OpenStore) -> Iterator[OpenStore]:
    """The body of an `open_store` fixture: every store that was opened is closed when the test is over."""
    opened: list[Store] = []

    def open_store(**options: Any) -> Store:
        opened.append(connect(**options))
        return opened[-1]

    yield open_store
    for store in reversed(opened):
        store.close()
