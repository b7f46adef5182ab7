"""What a caller says it used, bounded where it is given: no number may reach the tables that a later sum chokes on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..aisdk import token_usage
from ..base import arguments
from ..db.engine import Tx
from ..db.queries import Q
from ..errors import BadValue
from ..model import MOST, USAGE_KEYS, Usage

if TYPE_CHECKING:
    from .read.heads import Thread

MOST_USD = 1e12
_LARGE = 2**32  # tokens at once; sums of anything smaller do not get far in a lifetime


def check_count(name: str, given: Any) -> int:
    return arguments.whole(name, given, most=MOST)


def check_usage(usage: Usage) -> Usage:
    for name, given in zip(USAGE_KEYS, usage.counts(), strict=True):
        check_count(name, given)
    return usage


def read_usage(given: Any, counts: Usage | None = None) -> Usage:
    """What a caller says was used: the usage object of an API, or counts by name."""
    by_name = Usage() if counts is None else check_usage(counts)
    if given is None:
        return by_name
    if by_name != Usage():
        raise BadValue("give the usage object of an API, or counts by name, not both")
    return check_usage(token_usage.read(given))


def check_cost(given: Any) -> float:
    """Dollars; none told are none."""
    if given is None:
        return 0.0
    if type(given) not in (int, float) or not 0 <= given <= MOST_USD or math.isnan(given):
        raise BadValue(f"cost_usd is a number of dollars from 0 to {MOST_USD:,.0f}, not {arguments.shown(given)}")
    return float(given)


def check_metadata(value: dict[str, Any]) -> None:
    """`usage` in a caller's metadata: what looks like a count must be one."""
    usage = value["usage"]
    for name, given in usage.items() if isinstance(usage, dict) else ():
        if name in USAGE_KEYS and type(given) is int:
            check_count(f"usage.{name}", given)


def refuse_overflow(tx: Tx, session_id: str, thread: Thread, before: Usage, more: Usage) -> None:
    """Refuse usage that would overflow the sums of the turn's path or of its session; `before` is what it has."""
    if sum((thread.tokens, *before.counts(), *more.counts())) > MOST:
        raise BadValue(f"the tokens of this path would be more than {MOST:,}; check what was counted")
    if sum(more.counts()) > _LARGE:
        (tokens,) = tx.one(Q.tokens_of_session, session=session_id) or (0,)
        if tokens + sum(more.counts()) > MOST:
            raise BadValue(f"the tokens of session {session_id} would be more than {MOST:,}; check what was counted")
