"""Chunks of many turns in one transaction: for asyncio, where one thread writes what many tasks stream.

Each chunk ends as if its turn had written it alone; an error of one is not an error of the others, unless it is the
store's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .recorder import Offer

if TYPE_CHECKING:
    from ..turn import Chunk, Turn

Outcome = Exception | None


def write_chunks(given: Sequence[tuple[Turn, Chunk]]) -> list[Outcome]:
    """`turn.write(chunk)` for each, in this order; what each of them raised."""
    outcomes: list[Outcome] = [None] * len(given)
    offers: dict[Turn, tuple[int, Offer]] = {}
    for place, (turn, chunk) in enumerate(given):
        if turn in offers:  # its number depends on the one before
            _insert(offers, outcomes)
        try:
            offer = turn._offer(chunk)
        except Exception as error:
            outcomes[place] = error
        else:
            if offer is not None:
                offers[turn] = place, offer
    _insert(offers, outcomes)
    return outcomes


def _insert(offers: dict[Turn, tuple[int, Offer]], outcomes: list[Outcome]) -> None:
    """All that is offered; every turn that offered something is told."""
    if not offers:
        return
    waiting = [(turn, place, offer) for turn, (place, offer) in offers.items()]
    (db,) = {offer.db for _, _, offer in waiting}  # they are turns of one store
    offers.clear()
    ends: Sequence[int | Exception]
    try:
        ends = db.append_all([(offer.row, offer.part) for _, _, offer in waiting])
    except Exception as error:
        ends = [error] * len(waiting)
    for (turn, place, offer), end in zip(waiting, ends, strict=True):
        try:
            turn._conclude(offer, end)
        except Exception as error:
            outcomes[place] = error
