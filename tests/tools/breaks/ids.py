"""Breaks of the promises about identifiers and order: the mistakes that other stores have made."""

from __future__ import annotations

import random
from typing import Any

from palaver.base import ids
from palaver.db import schema
from palaver.db.queries import Q

from ..planting import planted
from .schema import rewrite

_mint = ids.mint


def _restamp(change: Any) -> None:
    """Mint as before, then write another stamp."""

    def mint(prefix: str, now: int | None = None) -> str:
        made = _mint(prefix, now)
        return change(prefix, int(made[4:18], 16), made[18:])  # type: ignore[no-any-return]

    ids.mint = mint


@planted
def stamps_have_twelve_digits() -> None:
    _restamp(lambda prefix, stamp, tail: f"{prefix}{stamp % 2**48:012x}00{tail}")


@planted
def the_counter_wraps_in_its_millisecond() -> None:
    counted = [0, 0]

    def mint(prefix: str, now: int | None = None) -> str:
        made = _mint(prefix, now)
        ms = (ids.now_ms() if now is None else now) % 2**44
        counted[:] = [ms, (counted[1] + 1) % 4096 if counted[0] == ms else 0]
        return f"{prefix}{ms * 4096 + counted[1]:014x}{made[18:]}"

    ids.mint = mint


@planted
def a_stamp_follows_the_clock_back() -> None:
    def mint(prefix: str, now: int | None = None) -> str:
        ids._last = 0
        return _mint(prefix, now)

    ids.mint = mint


@planted
def tails_are_the_same_in_every_process() -> None:
    dice = random.Random(0)
    ids.os.urandom = dice.randbytes


@planted
def a_forked_child_keeps_its_parents_tails() -> None:
    class Kept(list[str]):
        def clear(self) -> None:
            pass

    ids._tails = Kept()


@planted
def ids_are_compared_without_case() -> None:
    text = schema.text()
    wanted = text.replace("id                TEXT PRIMARY KEY", "id TEXT COLLATE NOCASE PRIMARY KEY")
    assert wanted != text
    schema.text = lambda engine="sqlite": wanted
    schema.current.cache_clear()


@planted
def created_at_counts_seconds() -> None:
    rewrite(Q.insert_message, ":at, :at", ":at / 1000 * 1000, :at")


@planted
def part_ids_run_backwards() -> None:
    _restamp(lambda prefix, stamp, tail: f"{prefix}{2**56 - stamp if prefix == 'prt_' else stamp:014x}{tail}")


@planted
def entries_are_numbered_backwards() -> None:
    from palaver.db.sqlite.transactions import Write

    put = Write.defer_values

    def backwards(self: Any, query: Any, *values: Any) -> None:
        if query.name == "insert_entry":
            values = (values[0], 1_000_000 - values[1], *values[2:])
        put(self, query, *values)

    Write.defer_values = backwards  # type: ignore[method-assign]


@planted
def results_are_not_listed() -> None:
    from palaver.streaming import chunk_writer

    chunk_writer.RESULTS = set()
