"""Triggers: turns that no person began. The envelope says what did, and each delivery fires once.

`{source, fired_at, schedule_id?, delivery_id?, headers?, auth_subject?}`, in the user message's metadata.
"""

from __future__ import annotations

from typing import Any

from ...base import arguments, exact_json
from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import BadValue, TriggerConflict, TriggerFired
from .. import digests, rows
from .message_input import NewMessage

_TEXTS = ("schedule_id", "delivery_id", "auth_subject")


def envelope(given: Any) -> dict[str, Any] | None:
    """A trigger as it is stored: checked, and with the time it fired."""
    if given is None:
        return None
    value = exact_json.parse(exact_json.encode(given))
    if not isinstance(value, dict) or not isinstance(value.get("source"), str) or not value["source"]:
        raise BadValue("a trigger is an object with a text `source`: schedule, webhook, api, agent, mcp …")
    exact_json.check_name("trigger source", value["source"])
    for key in _TEXTS:
        if value.get(key) is not None:
            if not isinstance(value[key], str) or not value[key]:
                raise BadValue(f"a trigger's {key} is text, not {arguments.shown(value[key])}")
            exact_json.check_name(f"trigger {key}", value[key])
    _check_rest(value)
    return {"source": value.pop("source"), "fired_at": value.pop("fired_at", now_ms()), **value}


def _check_rest(value: dict[str, Any]) -> None:
    fired_at, headers = value.get("fired_at", 0), value.get("headers", {})
    if type(fired_at) is not int or fired_at < 0:
        raise BadValue(f"a trigger's fired_at is epoch milliseconds, not {arguments.shown(fired_at)}")
    if not isinstance(headers, dict):
        raise BadValue("a trigger's headers are an object")


def payload(messages: list[NewMessage]) -> bytes:
    """What makes two sendings the same: roles, metadata as given and parts; not the ids that were minted for them."""
    fields = [
        text for message in messages for text in (message.role, message.given, *(part.data for part in message.parts))
    ]
    return digests.of(*(field.encode() for field in fields))


def deliver(tx: Tx, session_id: str, turn_id: str, trigger: dict[str, Any] | None, content: bytes) -> None:
    """Note that a delivery begins a turn; refused if it did before. `content`: digest of what it says."""
    if trigger is None or trigger.get("delivery_id") is None:
        return
    source, delivery = trigger["source"], trigger["delivery_id"]
    known = rows.delivery.one(tx, source=source, delivery=delivery)
    if known is not None:
        error = TriggerFired if known.payload == content else TriggerConflict
        raise error(source, delivery, known.turn_id)
    tx.defer(
        Q.insert_delivery,
        source=source,
        delivery=delivery,
        session=session_id,
        turn=turn_id,
        payload=content,
        at=now_ms(),
    )
