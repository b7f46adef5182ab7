"""How much of what happened a store keeps: `live` or `full`. A fact of the store, not of who opens it.

`live` (the default) trims the chunks of sealed turns. `full` keeps every event and writes a journal of every change to
a contract row, from which `rebuild` makes the sessions again.
"""

from __future__ import annotations

from ...base import arguments
from ...db.engine import Database
from ...db.queries import Q
from ...errors import BadValue

LIVE, FULL = "live", "full"


def choose(db: Database, wanted: str | None) -> str:
    """What the store keeps. It is chosen before the first session: a journal is whole, or it is nothing."""
    if wanted not in (None, LIVE, FULL):
        raise BadValue(f"events is live or full, not {arguments.shown(wanted)}")
    with db.read() as tx:
        (present,) = tx.one(Q.get_setting, name="events") or (LIVE,)
    if wanted is None or wanted == present:
        return str(present)
    with db.write(hard=True) as tx:
        if tx.one(Q.any_session) is not None:
            raise BadValue(f'this store was begun with events="{present}"; import an export of it into a new one')
        tx.defer(Q.put_setting, name="events", value=wanted)
    return wanted
