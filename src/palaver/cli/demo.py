"""A small story on a store of its own: what Palaver does, shown on real rows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import palaver
from palaver import HeadConflict, Session, Turn, TurnInfo

Say = Callable[[str], Any]


def run(say: Say) -> None:
    with tempfile.TemporaryDirectory(prefix="palaver-demo-") as folder:
        path = str(Path(folder) / "talks.db")
        with palaver.open(path) as store:
            session = _record(store, say)
            _regenerate(session, say)
            _race(session, say)
            fork = _fork(session, say)
            _show_tree(session, fork, say)
        _reopen(path, session.id, say)


def _record(store: palaver.Store, say: Say) -> Session:
    say("A user asks; the question is on disk before any model is called.")
    session = store.sessions.create(agent="demo", title="A demo")
    with session.turn("What is a palaver?") as turn:
        for chunk in answer("A long talk, kept in full."):
            turn.write(chunk)
        turn.usage(input=12, output=7)
    say(f"  {turn.chunks} chunks streamed, each on disk before the next. Transcript:")
    _show(session, say)
    return session


def _regenerate(session: Session, say: Say) -> None:
    say("\nThe answer is regenerated: a sibling turn lists the same question, nothing is copied.")
    with session.regenerate() as turn:
        for chunk in answer("A conference; also idle talk."):
            turn.write(chunk)
    _show(session, say)
    session.undo()
    say("Undo brings the first answer back:")
    _show(session, say)


def _race(session: Session, say: Say) -> None:
    say("\nTwo writers answer at once. One wins; the other is told, and its work is kept as a stray.")
    first, second = session.turn("Who wins?"), session.turn("Who loses?")
    _stream(first, "The first to seal.")
    _stream(second, "Nobody's words are lost.")
    first.seal()
    try:
        second.seal()
    except HeadConflict as conflict:
        say(f"  HeadConflict: expected revision {conflict.expected}, found {conflict.actual}")
    _show(session, say)


def _fork(session: Session, say: Say) -> Session:
    say("\nA fork at the first turn is one row and one pointer; it goes its own way.")
    fork = session.fork(at=session.path()[0], title="A fork")
    with fork.turn("And in French?") as turn:
        _stream(turn, "Une palabre.")
    _show(fork, say)
    return fork


def _show_tree(session: Session, fork: Session, say: Say) -> None:
    say("\nThe tree of turns (* = on the session's path):")
    on_path = {turn.id for turn in session.path()}
    nodes = {turn.id: turn for turn in [*session.tree(), *fork.tree()]}
    for node in _walk(nodes, None):
        mark = "*" if node.id in on_path else " "
        digest = node.digest.hex()[:10] if node.digest else "open"
        say(f"  {'  ' * (node.depth - 1)}{mark} {node.id[-6:]} {node.status:<9} {digest}")


def _walk(nodes: dict[str, TurnInfo], parent: str | None) -> Iterator[TurnInfo]:
    for node in sorted(nodes.values(), key=lambda n: n.id):
        if node.parent_id == parent:
            yield node
            yield from _walk(nodes, node.id)


def _reopen(path: str, session_id: str, say: Say) -> None:
    with palaver.open(path) as store:
        problems = store.verify()
        count = len(store.sessions.get(session_id).messages())
    say(f"\nReopened: {count} messages on the path; verify found {len(problems)} problems.")


def _stream(turn: Turn, text: str) -> None:
    for chunk in answer(text):
        turn.write(chunk)


def answer(text: str) -> Iterator[dict[str, Any]]:
    """A model's stream, as the AI SDK writes it."""
    yield {"type": "start"}
    yield {"type": "start-step"}
    yield {"type": "text-start", "id": "t"}
    for word in text.split():
        yield {"type": "text-delta", "id": "t", "delta": word + " "}
    yield {"type": "text-end", "id": "t"}
    yield {"type": "finish-step"}
    yield {"type": "finish", "finishReason": "stop"}


def _show(session: Session, say: Say) -> None:
    for message in session.messages():
        words = " ".join(p["text"] for p in message["parts"] if p["type"] == "text")
        say(f"  {message['role']:>9}: {words.strip()}")
