"""Foreign ids: which of our ids another system's id stands for. The first answer stays."""

from __future__ import annotations

from ...db.engine import Tx
from ...db.queries import Q
from .. import rows


def put(tx: Tx, *, origin: str, scope: str, foreign: str, ours: str) -> str:
    """Remember it; the id that it stands for, which may be an earlier one."""
    tx.run(Q.put_foreign_id, origin=origin, scope=scope, foreign=foreign, id=ours)
    found = find(tx, origin=origin, scope=scope, foreign=foreign)
    assert found is not None
    return found


def find(tx: Tx, *, origin: str, scope: str, foreign: str) -> str | None:
    row = rows.foreign_id.one(tx, origin=origin, scope=scope, foreign=foreign)
    return row.id if row else None
