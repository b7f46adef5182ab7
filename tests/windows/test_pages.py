"""Pages joined, in either direction, are the whole list: in random lives of a store, with forks, rewinds, siblings,
open turns, compactions and rows of other programs."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

import palaver

from ..postgres.conftest import _spaces, ready_space, server
from ..postgres.engines import Engine, Memory, Postgres
from ..tools import driver
from ..tools.driver import Life
from .support import agree

__all__ = ["_spaces", "ready_space", "server"]
ALIVE = {step: weight for step, weight in driver.STEPS.items() if step not in (driver.close, driver.die)}


def everywhere(life: Life) -> None:
    """In every session, half of them with rows that no turn has yet."""
    for archived in (False, True):
        for info in life.store.sessions.list(archived=archived, limit=100).sessions:
            for _ in range(life.dice.choice((0, 2))):
                life.strangers += 1
                life.put(life.store.path, info.id, f"just now {life.strangers}", "user")
            agree(life.store.sessions.get(info.id))


def walk(life: Life, steps: int, every: int) -> None:
    try:
        life.run(steps, everywhere, every)
    finally:
        life.store.close()


def on_file(folder: Path, seed: int) -> Life:
    path = str(folder / "walk.db")
    return Life(lambda dice: palaver.open(path, save_buffer_ms=0, durability="normal"), seed)


def on_engine(engine: Engine, seed: int) -> Life:
    """One that stays open, for its place would be gone, or its dead are seen only after a while."""

    def put(_: object, session_id: str, words: str, role: str) -> None:
        ((newest,),) = engine.rows(
            life.store, f"SELECT max(created_at) FROM chat_messages WHERE session_id = '{session_id}'"
        )
        name, at = sha256(words.encode()).hexdigest()[:26], (newest or 0) + 1
        message = "INSERT INTO chat_messages VALUES (?, ?, ?, '{}', ?, ?)"
        engine.write(life.store, message, [(f"msg_{name}", session_id, role, at, at)])
        part = json.dumps({"type": "text", "text": words})
        values = (f"prt_{name}", f"msg_{name}", session_id, part, at, at)
        engine.write(life.store, "INSERT INTO chat_parts VALUES (?, ?, ?, 0, 'text', ?, NULL, NULL, ?, ?)", [values])

    life = Life(lambda dice: engine.open(), seed, ALIVE, put)
    return life


@pytest.mark.parametrize("seed", range(3))
def test_pages_joined_are_the_whole_list(tmp_path: Path, seed: int) -> None:
    walk(on_file(tmp_path, seed), steps=45, every=45)


def test_pages_joined_are_the_whole_list_in_memory() -> None:
    walk(on_engine(Memory(), 3), steps=45, every=45)


def test_pages_joined_are_the_whole_list_on_postgres(ready_space: tuple[str, str]) -> None:
    walk(on_engine(Postgres(*ready_space), 4), steps=20, every=20)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 108))
def test_pages_joined_are_the_whole_list_in_many_long_lives(tmp_path: Path, seed: int) -> None:
    walk(on_file(tmp_path, seed), steps=150, every=30)
