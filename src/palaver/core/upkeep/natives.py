"""Items of other programs: each is what was given, and belongs to a sealed turn of the session that it names."""

from __future__ import annotations

from collections.abc import Iterator

from ...db.engine import Tx
from ...db.queries import Q
from ...errors import BadValue
from .. import damage, packing
from . import records, rules, windows
from .findings import Finding, wrong


def prove(tx: Tx) -> Iterator[Finding]:
    turn, seq = "", windows.BEFORE_ALL
    while page := records.natives_beside_turns.all(tx, turn=turn, seq=seq, limit=windows.ROWS, inline=windows.INLINE):
        for row in page:
            for flaw in _flaws(tx, row):
                where = damage.as_text(row.turn_id)
                yield wrong("native", where, f"item {damage.as_text(row.item)} of turn {where} {flaw}")
        turn, seq = page[-1].turn_id, page[-1].seq


def _flaws(tx: Tx, row: records.NativeBesideTurnRow) -> Iterator[str]:
    if row.home is None:
        yield "belongs to no turn: its row is gone"
    elif row.sealed_at is None:
        yield "belongs to a turn that is not sealed"
    if row.home is not None and row.session_id != row.home:
        yield f"says session {damage.as_text(row.session_id)}, its turn says {row.home}"
    if row.size is not None and not _is_as_given(tx, row):
        yield "is not what was given: its digest does not fit"


def _is_as_given(tx: Tx, row: records.NativeBesideTurnRow) -> bool:
    stored = row.body
    if stored is None:
        (stored,) = tx.one(Q.body_of_native, turn=row.turn_id, seq=row.seq) or (None,)
    try:
        body = packing.unpacked(stored, row.codec)
    except BadValue:
        return False
    return body is None or rules.native_fits(row.digest, body)
