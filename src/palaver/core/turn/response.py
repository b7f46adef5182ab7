"""The response of an open turn: its message row, its part rows, its metadata, and the tokens it took.

The rows follow the fold. A row that already holds what the fold says is not written again.
"""

from __future__ import annotations

from typing import NamedTuple

from ...aisdk import token_usage
from ...aisdk.folding import MISSING
from ...aisdk.parts import tool_columns
from ...base import exact_json, ids
from ...base.clock import now_ms
from ...base.exact_json import LARGE
from ...db.engine import Tx
from ...db.queries import Q
from ...model import Usage
from .. import codec, heads, metadata, rows
from . import usage_rows
from .open_turn import NOTHING, OpenTurn, sealed_error

assert Q.set_response.names == ("response", "turn", "fence")
assert Q.insert_streamed_part.names == (*("id", "session", "place", "type", "data", "call", "state", "at", "message"),)


class PartUpdate(NamedTuple):
    """What `update_part` is told of a part that has a row."""

    type: str
    data: str
    call: str | None
    state: str | None
    now: int
    id: str


assert Q.update_part.names == PartUpdate._fields


def open_response(tx: Tx, turn: OpenTurn) -> int:
    """The assistant's row, made with its first chunk. Returns the event number reserved for that chunk."""
    found = heads.respond(tx, turn.session_id, turn.id, turn.fence)
    if found is None:
        raise sealed_error(tx, turn.id)
    revision, seq, at, has_row = found
    if not has_row:
        raise heads.gone(turn.session_id)
    given = turn.fold.id
    free = ids.is_ours(ids.MESSAGE, given) and not tx.one(Q.message_is_taken, id=given)
    response = given if free else ids.mint(ids.MESSAGE)
    tx.defer_values(Q.set_response, response, turn.id, turn.fence)
    hidden = None if revision == turn.base_revision else at
    turn.saved_metadata = (turn.given_metadata, turn.row_usage)
    text = metadata.add_owned(turn.given_metadata, usage=turn.row_usage, hidden_at=hidden)
    tx.defer_values(Q.insert_message, response, turn.session_id, "assistant", text, at)
    turn.add(tx, "message", response, None if free else given or None)
    turn.response_id = response
    return int(seq)


def rename_response(tx: Tx, turn: OpenTurn) -> None:
    """A `start` that came later says what the client calls the message."""
    line = next(e for e in turn.entries if e.kind == "message" and e.ref == turn.response_id)
    known_as = turn.fold.id if turn.fold.id and turn.fold.id != line.ref else None
    if known_as != line.client_id:
        line.client_id = known_as
        tx.defer(Q.set_client_id, turn=turn.id, seq=line.seq, client=known_as)


def write_part(tx: Tx, turn: OpenTurn, index: int) -> str | None:
    """Bring a part's row up to the fold; a new part gets its row. What the row says; None: it is so large that the
    text was released once it was bound."""
    for missing in range(len(turn.part_ids), index):
        _insert_row(tx, turn, missing)
    if index == len(turn.part_ids):
        return _insert_row(tx, turn, index)
    data = part_text(turn, index)
    if turn.rows.get(index) == hash(data):
        return data
    turn.rows[index] = hash(data)
    if len(data) < LARGE:
        tx.defer_values(Q.update_part, *part_row(turn, index, data))
        return data
    values = list(part_row(turn, index, data))
    del data
    tx.run_releasing(Q.update_part, values)
    return None


def part_row(turn: OpenTurn, index: int, data: str) -> PartUpdate:
    exact_json.refuse_depth(data)
    part = turn.fold.parts[index]  # its text was shown just now
    return PartUpdate(part["type"], data, *tool_columns(part), now_ms(), turn.part_ids[index])


def part_text(turn: OpenTurn, index: int) -> str:
    return codec.stored(exact_json.dump(turn.fold.part(index)))


def _insert_row(tx: Tx, turn: OpenTurn, index: int) -> str | None:
    assert turn.response_id is not None
    part = turn.fold.part(index)
    data = codec.stored(exact_json.dump(part))
    exact_json.refuse_depth(data)
    row_id, size = ids.mint(ids.PART), len(data)
    turn.part_ids.append(row_id)
    turn.rows[index] = hash(data)
    values = [row_id, turn.session_id, index, part["type"], data, *tool_columns(part), now_ms(), turn.response_id]
    if size < LARGE:
        tx.defer_values(Q.insert_streamed_part, *values)
        return data
    del data
    tx.run_releasing(Q.insert_streamed_part, values)
    return None


def write_metadata(tx: Tx, turn: OpenTurn) -> None:
    """Bring the response's metadata up to the fold, and count usage that arrived in it."""
    _count_metadata_usage(tx, turn)
    if turn.response_id is None or turn.saved_metadata == (turn.given_metadata, turn.row_usage):
        return
    turn.saved_metadata = (turn.given_metadata, turn.row_usage)
    row = rows.message.one(tx, id=turn.response_id)
    if row is None:  # another program removed the row; verify says so
        return
    hidden = metadata.hidden_stamp(row.metadata_json)
    text = metadata.add_owned(turn.given_metadata, usage=turn.row_usage, hidden_at=hidden)
    if text != row.metadata_json:
        tx.defer(Q.set_message_metadata, id=turn.response_id, metadata=text, now=now_ms())


def _count_metadata_usage(tx: Tx, turn: OpenTurn) -> None:
    """`messageMetadata.usage` is the whole usage so far: only what is new is added. It wins over what we were told."""
    if turn.fold.metadata is MISSING:
        return
    given = token_usage.from_metadata(exact_json.parse(turn.given_metadata))
    if given is None:
        return
    if given != turn.usage or turn.told:
        turn.told = False
        count_usage(tx, turn, given, turn.cost)
    if turn.response_id is not None and given != turn.counted:
        turn.counted = given
        model = turn.facts.get("model")
        usage_rows.of_metadata(tx, turn.session_id, turn.id, turn.response_id, given, model)


def set_usage(tx: Tx, turn: OpenTurn, usage: Usage, cost: float) -> None:
    turn.usage, turn.cost = usage, cost
    tx.defer(Q.set_usage, turn=turn.id, **usage.columns(), cost=cost, told=int(turn.told))


def count_usage(tx: Tx, turn: OpenTurn, usage: Usage, cost: float) -> None:
    """Set the turn's usage and add the difference to the session's rollups."""
    more = usage - turn.usage
    tx.defer(
        Q.add_usage,
        session=turn.session_id,
        **more.columns(),
        total=more.total,
        cost=cost - turn.cost,
        now=now_ms(),
    )
    set_usage(tx, turn, usage, cost)


def has_caller_usage(turn: OpenTurn) -> bool:
    return not turn.told and turn.usage != NOTHING
