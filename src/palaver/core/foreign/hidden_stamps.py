"""hidden_at for contract readers. One rule: a row of ours has it exactly when it is not in its home session's
`messages()`. Moves of the head therefore restamp what left the path and what came back.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from .. import metadata, rows
from ..read import entries, jumps, previews
from ..read.heads import Head

Standing = dict[str, tuple[str, str]]  # a row of the session -> which message it stands for, and its metadata


def restamp(tx: Tx, head: Head, old_turn: str | None) -> None:
    """After a move from `old_turn` to the head: hide what left, show what came back."""
    gone, shown = _between(tx, head, old_turn) if old_turn != head.turn_id else (Standing(), Standing())
    outrun: list[str] = []
    came: list[str] = []
    for turn in rows.open_turns.all(tx, session=head.session_id):
        if turn.status != "pending":
            (came if turn.base_revision == head.revision else outrun).append(turn.id)
    shown |= _standing(tx, head.session_id, came)
    for row_id, (message_id, text) in _standing(tx, head.session_id, outrun).items():
        if row_id not in gone and entries.listing(tx, message_id, head.turn_id) is None:
            gone[row_id] = message_id, text
    if _apply(tx, shown, gone):
        tx.defer(Q.set_preview, session=head.session_id, preview=previews.recompute(tx, head.session_id))


def _between(tx: Tx, head: Head, old_turn: str | None) -> tuple[Standing, Standing]:
    """What stands in the turns of the old path that are not on the new one, and the other way round."""
    met = jumps.meeting(tx, old_turn, head.turn_id)
    above = met.depth if met else 0
    ways = (
        tx.all(Q.standing_on_way, turn=turn, above=above, session=head.session_id) if turn else []
        for turn in (old_turn, head.turn_id)
    )
    old, new = ({row_id: (message_id, text) for row_id, message_id, text in way} for way in ways)
    return old, new


def hide_open_turns(tx: Tx, head: Head) -> None:
    """Open turns begun on an older revision are not in the transcript any more."""
    restamp(tx, head, head.turn_id)


def _apply(tx: Tx, shown: Standing, gone: Standing) -> bool:
    """Whether anything changed."""
    now, changed = now_ms(), False
    for row_id, (_, text) in gone.items():
        if row_id not in shown:
            changed |= _put(tx, row_id, text, metadata.hide(text, now), now)
    for row_id, (_, text) in shown.items():
        changed |= _put(tx, row_id, text, metadata.unhide(text), now)
    return changed


def _put(tx: Tx, row_id: str, before: str, text: str, now: int) -> bool:
    if text != before:
        tx.defer(Q.set_message_metadata, id=row_id, metadata=text, now=now)
    return text != before


def _standing(tx: Tx, session_id: str, turn_ids: Iterable[str]) -> Standing:
    return {
        row_id: (message_id, text)
        for turn_id in turn_ids
        for row_id, message_id, text in tx.all(Q.standing_rows, turn=turn_id, session=session_id)
    }
