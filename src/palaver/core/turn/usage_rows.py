"""Usage by API response: a row for each, of which the counts of turns and messages are the sums.

`turn`: what `turn.usage` told, a row per call. `metadata`: what a message's own metadata says, one row, replaced. Any
other word: an application's or a dialect's, for the session as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import UsageKeyTaken
from ...model import Usage
from .. import rows
from ..facts import model_columns

TOLD, METADATA = "turn", "metadata"


def add(
    tx: Tx,
    session_id: str,
    usage: Usage,
    *,
    source: str,
    turn_id: str | None = None,
    message_id: str | None = None,
    key: str | None = None,
    model: Any = None,
    cost: float | None = None,
    computed: float | None = None,
    price: str | None = None,
    at: int | None = None,
) -> None:
    name, provider = model_columns(model)
    tx.defer(
        Q.insert_usage,
        session=session_id,
        turn=turn_id,
        message=message_id,
        key=key,
        source=source,
        provider=provider,
        model=name,
        **usage.columns(),
        cost_reported=cost,
        cost_computed=computed,
        price=price,
        at=now_ms() if at is None else at,
    )


def is_there(tx: Tx, session_id: str, key: str | None, usage: Usage, cost: float | None) -> bool:
    """Whether a response was counted before. The same key with other counts is refused."""
    known = None if key is None else rows.usage_by_key.one(tx, session=session_id, key=key)
    if known is None or key is None:
        return False
    if counts(known) != usage or (known.cost_reported or 0.0) != (cost or 0.0):
        raise UsageKeyTaken(session_id, key)
    return True


def counts(row: rows.UsageRow) -> Usage:
    return Usage(row.input, row.output, row.reasoning, row.cache_read, row.cache_write)


def of_metadata(tx: Tx, session_id: str, turn_id: str, message_id: str, usage: Usage, model: Any = None) -> None:
    """The whole usage so far, as a message's metadata says it."""
    tx.defer(Q.drop_told_usage, message=message_id)
    if not tx.run(Q.replace_message_usage, message=message_id, **usage.columns(), at=now_ms()):
        add(tx, session_id, usage, source=METADATA, turn_id=turn_id, message_id=message_id, model=model)


def of_messages(
    tx: Tx, session_id: str, turn_id: str | None, found: Iterable[tuple[str, Usage]], model: Any = None
) -> None:
    """Of answers that came whole, each with its id."""
    for message_id, usage in found:
        add(tx, session_id, usage, source=METADATA, turn_id=turn_id, message_id=message_id, model=model)
