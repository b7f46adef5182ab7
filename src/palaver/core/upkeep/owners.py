"""Owners: the rows of the processes that write. One goes when its process signs off, or died and left nothing open."""

from __future__ import annotations

from collections.abc import Iterable

from ...db.engine import Tx
from ...db.queries import Q
from .. import rows
from ..read.unsettled import is_left
from ..rows import AnyOpenTurnRow
from ..runtime import IsDead


def abandoned(tx: Tx, is_dead: IsDead) -> list[AnyOpenTurnRow]:
    """The turns that stream, and whose writer is dead."""
    return [turn for turn in rows.all_open_turns.all(tx) if is_left(tx, turn, is_dead)]


def dead(tx: Tx, is_dead: IsDead) -> list[str]:
    """The dead owners that no open turn names: nothing is left to do for them."""
    return [owner.id for owner in rows.idle_owners.all(tx) if is_dead(tx, owner.id)]


def drop(tx: Tx, owners: Iterable[str]) -> None:
    for owner in owners:
        tx.defer(Q.drop_owner, id=owner)
