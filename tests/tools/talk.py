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
    """What each message says; one without a text is left out."""
    return [said(message) for message in _messages(of) if any(part["type"] == "text" for part in message["parts"])]


def lines(of: palaver.Session | Sequence[dict[str, Any]]) -> list[str]:
    """Who said what, in every message."""
    return [f"{message['role']}: {said(message)}" for message in _messages(of)]


def said(message: dict[str, Any]) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


def _messages(of: palaver.Session | Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    return of.messages() if isinstance(of, palaver.Session) else of
