"""A result that comes after the seal: the turn cannot change, so a stray sibling keeps it."""

from __future__ import annotations

from typing import Any

from ...aisdk import chunks
from ...aisdk.folding import Fold
from ...db.engine import Tx
from ...errors import ChunkError
from .. import damage, heads, metadata, rows
from ..read import entries
from ..turn import message_input, seal


def keep(tx: Tx, turn_id: str, data: dict[str, Any]) -> str:
    """A sibling of the sealed turn with the same messages and the answer in place; no head points at it."""
    row = rows.turn.one(tx, turn=turn_id)
    assert row is not None
    if row.response_id is None:
        raise ChunkError(f'No tool invocation found for tool call ID "{data["tool_call_id"]}".')
    head = heads.lock(tx, row.session_id, timestamps=1)
    message = _answered(tx, row.response_id, bool(row.usage_told), data)
    listed = entries.of_turn(tx, turn_id)
    before = listed[: entries.start_of_message(listed, row.response_id)]
    turn = seal.commit(tx, head, [message], entries=before, parent_id=row.parent_id, facts={"late": turn_id})
    seal.mark_stray(tx, head, turn.id, turn.begin_seq, turn.status)
    return turn.id


def _answered(tx: Tx, response_id: str, told: bool, data: dict[str, Any]) -> message_input.NewMessage:
    stored = rows.message.one(tx, id=response_id)
    assert stored is not None
    parts = [chunks.open_values(part.data_json) for part in rows.parts.all(tx, message=response_id)]
    fold = Fold({"id": response_id, "role": "assistant", "parts": parts}, resets=False)
    fold.resolve(**data)
    given = _without_usage(metadata.strip_owned(stored.metadata_json, usage_told=told))
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
