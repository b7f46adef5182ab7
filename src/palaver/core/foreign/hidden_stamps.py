"""hidden_at for contract readers. One rule: a row of ours has it exactly when it is not in its home session's
`messages()`. Moves of the head therefore restamp what left the path and what came back.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from .. import metadata, rows
from ..read import entries
from ..read.heads import Head

Standing = dict[str, tuple[str, str]]  # a row of the session -> which message it stands for, and its metadata


def restamp(tx: Tx, head: Head, old_turn: str | None) -> None:
    """After a move from `old_turn` to the head: hide what left, show what came back."""
    old, new = entries.path(tx, old_turn), entries.path(tx, head.turn_id)
    on_new, on_old = set(new), set(old)
    left = [t for t in old if t not in on_new]
    came = [t for t in new if t not in on_old]
    outrun: list[str] = []
    for turn in rows.open_turns.all(tx, session=head.session_id):
        if turn.status != "pending":
            (came if turn.base_revision == head.revision else outrun).append(turn.id)
    shown = _standing(tx, head.session_id, came)
    gone = _standing(tx, head.session_id, left)
    for row_id, (message_id, text) in _standing(tx, head.session_id, outrun).items():
        listed = rows.turns_of_message.all(tx, message=message_id) if row_id not in gone else []
        if row_id not in gone and not any(each.turn_id in on_new for each in listed):
            gone[row_id] = message_id, text
    _apply(tx, shown, gone)


def hide_open_turns(tx: Tx, head: Head) -> None:
    """Open turns begun on an older revision are not in the transcript any more."""
    restamp(tx, head, head.turn_id)


def _apply(tx: Tx, shown: Standing, gone: Standing) -> None:
    now = now_ms()
    for row_id, (_, text) in gone.items():
        if row_id not in shown:
            _put(tx, row_id, text, metadata.hide(text, now), now)
    for row_id, (_, text) in shown.items():
        _put(tx, row_id, text, metadata.unhide(text), now)


def _put(tx: Tx, row_id: str, before: str, text: str, now: int) -> None:
    if text != before:
        tx.defer(Q.set_message_metadata, id=row_id, metadata=text, now=now)


def _standing(tx: Tx, session_id: str, turn_ids: Iterable[str]) -> Standing:
    return {
        row_id: (message_id, text)
        for turn_id in turn_ids
        for row_id, message_id, text in tx.all(Q.standing_rows, turn=turn_id, session=session_id)
    }
