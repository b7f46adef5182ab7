"""A random life of a store that keeps everything. In the end it is damaged, and made again."""

from __future__ import annotations

import random

import palaver

from ..tools import driver
from ..tools.driver import Life
from ..tools.sql import writing
from .support import TABLES, dump, foreign_message, full, replays
from .verbs import another_store, carry

SPOILERS = (
    "DELETE FROM {table} WHERE rowid % {n} = 0",
    "UPDATE {table} SET updated_at = updated_at + {n} WHERE rowid % 2",
    "DELETE FROM {table}",
)


def take_entries(life: Life) -> None:
    if life.room:
        with another_store(life.dice.choice(["full", "live"])) as (other, _, fork_of_it):
            carry(other, life.store, *life.dice.choice([[], [fork_of_it]]))
            carry(other, life.store)


STEPS = {**driver.STEPS, take_entries: 2}


def life_of(path: str, seed: int) -> Life:
    def opened(dice: random.Random) -> palaver.Store:
        policy, buffer = dice.choice(["chunk", "chunk", "chunk", "step", "turn"]), dice.choice([0, 1e9])
        return full(path, save_on=policy, save_buffer_ms=None if policy == "turn" else buffer)

    return Life(opened, seed, STEPS, put=foreign_message)


def check(life: Life) -> None:
    assert replays(life.store) == []


def end(life: Life) -> None:
    """Proved, then damaged, and made again."""
    check(life)
    assert life.store.verify() == []
    path = life.store.path
    before = dump(path)
    with writing(path) as db:
        for table in TABLES:
            sql = life.dice.choice(SPOILERS).format(table=table, n=life.dice.randint(2, 5))
            db.execute(f"{sql} {'AND' if 'WHERE' in sql else 'WHERE'} id NOT LIKE '%stranger%'")
    assert life.store.rebuild() != []
    assert dump(path) == before
    life.store.close()
