"""Usage that belongs to a session as a whole, and to none of its turns."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base import exact_json
from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import BadValue
from ...model import Usage
from .. import counting, heads, model_ref, rows
from ..read import sessions
from ..runtime import Runtime
from ..turn import open_turn, usage_rows


class Said(NamedTuple):
    """What a caller says was used."""

    usage: Usage
    model: Any
    cost: float | None
    computed: float | None
    price: str | None
    source: str
    key: str | None

    @classmethod
    def of(cls, told: Any, model: Any, cost: Any, computed: Any, price: Any, source: Any, key: Any) -> Said:
        if source in (usage_rows.TOLD, usage_rows.METADATA) or not exact_json.check_column("source", source):
            raise BadValue(f"source is who tells of it: a word of your own, not {source!r:.40}")
        return cls(
            counting.read_usage(told),
            None if model is None else model_ref.checked(model),
            None if cost is None else counting.check_cost(cost),
            None if computed is None else counting.check_cost(computed),
            exact_json.check_column("price", price),
            source,
            exact_json.check_column("key", key),
        )


def add(tx: Tx, _: Runtime, session_id: str, said: Said, replace: bool) -> None:
    sessions.require(tx, session_id)
    head = heads.lock(tx, session_id, timestamps=0)
    heads.refuse_gone(head)
    if replace and said.key is not None and rows.usage_by_key.one(tx, session=session_id, key=said.key) is not None:
        tx.defer(Q.change_usage, session=session_id, key=said.key, **said.usage.columns(), **_costs(said), at=now_ms())
    elif usage_rows.is_there(tx, session_id, said.key, said.usage, said.cost):
        return
    else:
        usage, model, cost, computed, price, source, key = said
        about = {"model": model, "cost": cost, "computed": computed, "price": price, "key": key}
        usage_rows.add(tx, session_id, usage, source=source, **about)
    told = {"source": said.source, "key": said.key, "usage": exact_json.Raw(said.usage.json().encode())}
    open_turn.record_event(tx, head, "usage", None, told | {"cost_usd": said.cost})


def _costs(said: Said) -> dict[str, Any]:
    return {"cost_reported": said.cost, "cost_computed": said.computed, "price": said.price}
