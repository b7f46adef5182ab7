"""Turns of a question and an answer, and how a transcript reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import palaver

from .chunks import Chunk, text


def feed(turn: palaver.Turn, chunks: Iterable[Chunk]) -> palaver.Turn:
    """One by one."""
    for chunk in chunks:
        turn.write(chunk)
    return turn


def say(session: palaver.Session, question: str, answer: str, **setup: Any) -> str:
    """A whole turn with one text; its id."""
    with session.turn(question, **setup) as turn:
        turn.append(text(answer))
    return turn.id


# ---------------------------------------------------------------- as it reads


def texts(of: palaver.Session | Sequence[dict[str, Any]]) -> list[str]:
    """What each message says, without the rest."""
    messages = of.messages() if isinstance(of, palaver.Session) else of
    return ["".join(part["text"] for part in m["parts"] if part["type"] == "text") for m in messages]


def lines(of: palaver.Session | Sequence[dict[str, Any]]) -> list[str]:
    """The same, and who said it."""
    messages = of.messages() if isinstance(of, palaver.Session) else of
    return [f"{message['role']}: {said}" for message, said in zip(messages, texts(messages), strict=True)]
