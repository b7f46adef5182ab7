"""Jumps: each turn knows one ancestor far away, so that a place on the way to the root is found in few steps.

Which one follows from its parent's alone (a skew-binary number: twice as far wherever two jumps of one length meet), so
it is written with the turn and never changes. '' stands before every root, at depth 0.
"""

from __future__ import annotations

from typing import NamedTuple

from ...db.engine import Tx
from ...db.queries import Q
from .. import rows
from ..rows import StepRow

FAR = 2**62  # deeper than every turn, behind every line


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


# ---------------------------------------------------------------- finding a place


def back(tx: Tx, turn_id: str, *, above: int, messages: int = 0) -> StepRow | None:
    """From a turn, itself included, as far towards its root as the turns are deeper than `above` and so many messages
    were said by then; None: there is no such turn."""
    found = rows.way_back.all(tx, turn=turn_id, above=above, messages=messages)
    return found[-1] if found else None


def is_ancestor(tx: Tx, turn_id: str, of: str | None) -> bool:
    """Whether a turn is another one, or on its way to the root."""
    if of is None or turn_id == of:
        return turn_id == of
    turn = rows.turn.one(tx, turn=turn_id)
    found = None if turn is None else back(tx, of, above=turn.depth - 1)
    return found is not None and found.id == turn_id


def meeting(tx: Tx, one: str | None, other: str | None) -> StepRow | None:
    """The deepest turn that is on the ways of both to their roots, or one of them; None: there is none."""
    return rows.meeting_turn.one(tx, one=one, other=other) if one and other else None
