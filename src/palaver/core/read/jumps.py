"""Jumps: each turn knows one ancestor far away, so that a place on the way to the root is found in few steps.

Which one follows from its parent's alone (a skew-binary number: twice as far wherever two jumps of one length meet), so
it is written with the turn and never changes. '' stands before every root, at depth 0.
"""

from __future__ import annotations

from typing import NamedTuple

from ...db.engine import Tx
from ...db.queries import Q


class Jump(NamedTuple):
    """An ancestor, its depth, and where it jumps to itself (None: not read yet)."""

    turn_id: str
    depth: int
    on: Jump | None = None


START = Jump("", 0)


def of_child(tx: Tx, parent_id: str | None, depth: int, jump: Jump | None) -> Jump | None:
    """Where a child of a turn jumps to, by the turn's depth and jump. None: the turn's is not filled yet."""
    if parent_id is None:
        return START
    if jump is None:
        return None
    on = _after(tx, jump)
    if on is None:
        return None
    return on if depth - jump.depth == jump.depth - on.depth else Jump(parent_id, depth, jump)


def _after(tx: Tx, jump: Jump) -> Jump | None:
    if not jump.turn_id:
        return START
    return jump.on or read(tx, jump.turn_id)


def read(tx: Tx, turn_id: str) -> Jump | None:
    """Where a turn jumps to."""
    row = tx.one(Q.jump_of, turn=turn_id)
    to, depth = row or (None, None)
    return None if to is None else Jump(to, depth or 0)


def id_of(jump: Jump | None) -> str | None:
    """As the column holds it."""
    return None if jump is None else jump.turn_id
