"""Random walks over everything a session can do, with the judge looking after every single step.

A walk is a seed; a failing one prints it and the steps so far. Besides our own verbs it lets another program write
loose rows, closes and reopens the store, and keeps several turns open at once.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import palaver

from .support import answer, assert_agrees, put_row


class Walk:
    """One session, its open turns, and the dice."""

    def __init__(self, path: str, seed: int) -> None:
        self.dice = random.Random(seed)
        self.path = path
        self.open()
        self.session_id = self.store.sessions.create("coder").id
        self.streams: list[tuple[palaver.Turn, list[dict[str, Any]]]] = []
        self.foreign = 0
        self.steps: list[str] = []

    def open(self) -> None:
        self.store = palaver.open(self.path, save_buffer_ms=0, durability="normal")

    @property
    def session(self) -> palaver.Session:
        return palaver.Session(self.store, self.session_id)

    def step(self) -> None:
        verb = self.dice.choice(VERBS)
        self.steps.append(verb.__name__)
        try:
            verb(self)
        except (palaver.Refused, palaver.NotFound, palaver.HeadConflict) as refusal:
            self.steps[-1] += f" ({type(refusal).__name__})"
        self.streams = [(t, rest) for t, rest in self.streams if t.status == "streaming"]

    def any_message(self, role: str) -> str:
        found = [m["id"] for m in self.session.messages() if m["role"] == role]
        if not found:
            raise palaver.MessageNotFound(role)
        return str(self.dice.choice(found))

    def words(self) -> str:
        return " ".join(self.dice.choices(("owl", "hoots", "at", "night", "🦉"), k=3))

    def keep(self, turn: palaver.Turn) -> None:
        chunks = answer(self.words())
        if self.dice.random() < 0.3:
            call = {"toolCallId": "c", "toolName": "look", "input": {"n": 1}}
            chunks.insert(-2, {"type": "tool-input-available", **call})
        self.streams.append((turn, chunks))

    def any_stream(self) -> tuple[palaver.Turn, list[dict[str, Any]]]:
        if not self.streams:
            raise palaver.TurnNotFound("open")
        return self.dice.choice(self.streams)


def begin(walk: Walk) -> None:
    walk.keep(walk.session.turn(walk.words()))


def write(walk: Walk) -> None:
    turn, chunks = walk.any_stream()
    for _ in range(walk.dice.randint(1, 4)):
        if chunks and turn.status == "streaming":
            turn.write(chunks.pop(0))


def finish(walk: Walk) -> None:
    turn, chunks = walk.any_stream()
    while chunks and turn.status == "streaming":
        turn.write(chunks.pop(0))
    if turn.status == "streaming":
        turn.seal()


def abort(walk: Walk) -> None:
    walk.any_stream()[0].abort()


def count(walk: Walk) -> None:
    walk.any_stream()[0].usage(input=walk.dice.randint(0, 9), output=walk.dice.randint(0, 9))


def commit(walk: Walk) -> None:
    usage = {"input": 1, "output": 2, "reasoning": 3, "cache_read": 4, "cache_write": 5}
    reply = {"role": "assistant", "metadata": {"usage": usage}, "parts": [{"type": "text", "text": walk.words()}]}
    walk.session.commit([walk.words(), reply])


def rewind(walk: Walk) -> None:
    walk.session.rewind(to=walk.any_message(walk.dice.choice(("user", "assistant"))))


def undo(walk: Walk) -> None:
    walk.session.undo()


def redo(walk: Walk) -> None:
    walk.session.redo()


def regenerate(walk: Walk) -> None:
    walk.keep(walk.session.regenerate(walk.any_message("assistant")))


def edit(walk: Walk) -> None:
    walk.keep(walk.session.edit(walk.any_message("user"), walk.words()))


def resolve(walk: Walk) -> None:
    for waiting in walk.session.waiting():
        turn = walk.session.resume(waiting.id)
        turn.resolve("c", output=walk.words())
        turn.seal()


def fork(walk: Walk) -> None:
    walk.session.fork(at=walk.any_message("user")).commit([walk.words()])


def archive(walk: Walk) -> None:
    walk.session.archive()
    walk.session.unarchive()


def delete(walk: Walk) -> None:
    walk.session.delete()
    assert_agrees(walk.store)
    walk.session.undelete()


def foreign(walk: Walk) -> None:
    """Another program adds a message in a transaction of its own."""
    walk.foreign += 1
    put_row(walk.path, walk.session_id, f"loose {walk.foreign}", walk.dice.choice(("user", "assistant")))


def reopen(walk: Walk) -> None:
    walk.streams.clear()
    walk.store.close()
    walk.open()


VERBS: list[Callable[[Walk], None]] = [
    *(begin, begin, write, write, write, finish, finish, finish, abort, count, commit, rewind, undo, undo, redo),
    *(regenerate, edit, resolve, fork, archive, delete, foreign, foreign, reopen),
]


def take_a_walk(path: str, seed: int, steps: int) -> None:
    walk = Walk(path, seed)
    try:
        for _ in range(steps):
            walk.step()
            assert_agrees(walk.store)
    except BaseException as error:
        error.add_note(f"seed {seed}: " + ", ".join(walk.steps))
        raise
    finally:
        walk.store.close()


@pytest.mark.parametrize("seed", range(12))
def test_the_judge_agrees_after_every_step_of_a_walk(tmp_path: Path, seed: int) -> None:
    take_a_walk(str(tmp_path / "walk.db"), seed, steps=40)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 400))
def test_the_judge_agrees_after_every_step_of_many_long_walks(tmp_path: Path, seed: int) -> None:
    take_a_walk(str(tmp_path / "walk.db"), seed, steps=120)
