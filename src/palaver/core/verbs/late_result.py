"""A result that comes after the seal: the turn cannot change, so a stray sibling keeps it."""

from __future__ import annotations

from typing import Any

from ...aisdk import chunks
from ...aisdk.folding import Fold
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import ChunkError
from .. import damage, heads, metadata
from ..turn import message_input, seal
from .moves import entries_of, start_of_message


def keep(tx: Tx, turn_id: str, data: dict[str, Any]) -> str:
    """A sibling of the sealed turn with the same messages and the answer in place; no head points at it."""
    row = tx.one(Q.get_turn, turn=turn_id)
    assert row is not None
    session_id, parent_id, response_id = row[2], row[1], row[10]
    if response_id is None:
        raise ChunkError(f'No tool invocation found for tool call ID "{data["tool_call_id"]}".')
    head = heads.lock(tx, session_id, timestamps=1)
    message = _answered(tx, response_id, bool(row[22]), data)
    entries = entries_of(tx, turn_id)
    before = entries[: start_of_message(entries, response_id)]
    turn = seal.commit(tx, head, before, [message], parent_id=parent_id, facts={"late": turn_id})
    seal.mark_stray(tx, head, turn)
    return turn.id


def _answered(tx: Tx, response_id: str, told: bool, data: dict[str, Any]) -> message_input.NewMessage:
    stored = tx.one(Q.get_message, id=response_id)
    assert stored is not None
    parts = [chunks.open_values(p[3]) for p in tx.all(Q.parts_of_message, message=response_id)]
    fold = Fold({"id": response_id, "role": "assistant", "parts": parts}, resets=False)
    fold.resolve(**data)
    given = _without_usage(metadata.strip_owned(stored[3], usage_told=told))
    return message_input.prepare_message(
        {"role": "assistant", "metadata": given, "parts": [fold.part(i) for i in range(len(fold.parts))]}
    )


def _without_usage(text: str) -> Any:
    """The copy's tokens were counted with the original."""
    value = damage.parsed(text)
    if isinstance(value, dict):
        value.pop("usage", None)
        return value
    return {}
