"""A turn of the source on its way in: everything that can be looked at and made before the lock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from ..aisdk import token_usage
from ..aisdk.chunks import decoded
from ..base import arguments, exact_json, ids
from ..base.exact_json import check_column, check_name
from ..core import counting, model_ref, packing
from ..core.facts import OWN
from ..core.read import natives
from ..core.read.natives import Key
from ..core.turn import message_input, seal
from ..core.turn.message_input import NewMessage, prepare_message
from ..core.turn.options import PLAIN, TurnOptions
from ..core.turn.seal import Told
from ..core.verbs.compaction import Compaction
from ..core.verbs.graft import NewNative, NewTurn, Summary
from ..db.engine import Tx
from ..errors import BadValue
from ..model import SEALED, Usage
from .values import GraftCompaction, GraftItem, GraftTurn, GraftUsage, Native

EARLIEST, LATEST = 0, 16_725_225_600_000  # 1970 and 2500


def items(given: GraftTurn) -> list[GraftItem]:
    found = list(arguments.several("items", given.items))
    for item in found:
        if not isinstance(item, GraftItem):
            raise BadValue(f"a turn is made of GraftItems, not {type(item).__name__}")
    if not found:
        raise BadValue("a turn is made of at least one item of its source")
    return found


def keys(items: Sequence[GraftItem], first: int) -> list[Key]:
    """What each item is known by; one without an id by its place, `first` and on."""
    return [Key(_name(item, first + n), sha256(_bytes(item)).digest()) for n, item in enumerate(items)]


def _name(item: GraftItem, place: int) -> str:
    if item.id is None:
        return f"#{place}"
    if not check_name("item id", arguments.text("item id", item.id)) or item.id.startswith("#"):
        raise BadValue(f"an item's id is a text that does not begin with '#', not {arguments.shown(item.id)}")
    return item.id


def _bytes(item: GraftItem) -> bytes:
    if type(item.body) is not bytes:
        raise BadValue(f"the body of an item is bytes, not {type(item.body).__name__}")
    return item.body


def native(item: GraftItem, key: Key) -> NewNative:
    check_column("file", item.file)
    place = None if item.place is None else arguments.whole("place", item.place)
    return NewNative(key, *packing.packed(item.body), item.file, place)


def natives_of(tx: Tx, turn_id: str) -> list[Native]:
    found = natives.of_turn(tx, turn_id)
    return [
        Native(
            row.turn_id, row.origin, row.item, row.digest, packing.unpacked(row.body, row.codec), row.file, row.place
        )
        for row in found
    ]


# ---------------------------------------------------------------- a turn


def turn(given: GraftTurn, parent_id: str | None, kept: list[NewNative], origin: str, keep_from: str | None) -> NewTurn:
    said_of_it = _mapping("options", given.options)
    options = _options(said_of_it) if said_of_it else PLAIN
    messages, times = _messages(given, options)
    said = given.compaction
    summary = None if said is None else Summary(_compaction(said), keep_from)
    if summary is not None and (messages or given.usage):
        raise BadValue("a compaction has no messages and no usage of its own: its options say what it used")
    return NewTurn(
        id=ids.mint(ids.TURN),
        parent_id=parent_id,
        natives=kept,
        messages=messages,
        times=[given.started_at] if summary else times,
        options=options,
        facts=_facts(given),
        status=_status(given.status, messages),
        told=_used(given, messages, origin),
        started_at=time("started_at", given.started_at),
        sealed_at=time("sealed_at", given.sealed_at),
        summary=summary,
        homeless=len(given.homeless),
    )


def _options(given: dict[str, Any]) -> TurnOptions:
    try:
        return TurnOptions(**given)
    except TypeError as error:  # a misspelt name, of one turn among many
        raise BadValue(str(error)) from None


def _compaction(said: GraftCompaction) -> Compaction:
    try:
        return Compaction.of(said.summary, _mapping("options", said.options))  # type: ignore[arg-type]
    except TypeError as error:
        raise BadValue(str(error)) from None


def _used(given: GraftTurn, messages: list[NewMessage], origin: str) -> list[Told]:
    told = [_told(one, origin) for one in arguments.several("usage", given.usage)]
    if told and seal.usages_in(messages):
        raise BadValue("an answer's metadata says what was used; give it there or as `usage`, not both")
    return told


def _messages(given: GraftTurn, options: TurnOptions) -> tuple[list[NewMessage], list[int | None]]:
    messages, times = [], []
    for said in arguments.several("messages", given.messages):
        message, at = message_input.as_dict(said), None
        if "created_at" in message:
            message = message.copy()
            at = time("created_at", decoded(message.pop("created_at")))
        messages.append(prepare_message(message, None if options is PLAIN else options.for_message))
        times.append(at)
    return messages, times


def time(name: str, given: Any) -> int | None:
    if given is None:
        return None
    if type(given) is not int or not EARLIEST <= given <= LATEST:
        shown = arguments.shown(given)
        raise BadValue(f"{name} is epoch milliseconds between the years 1970 and 2500, not {shown}")
    return given


def _status(given: Any, messages: list[NewMessage]) -> str:
    if given is None:
        return seal.status_of(messages)
    if given not in SEALED:
        raise BadValue(f"a turn ended as completed, failed or aborted, not {arguments.shown(given)}")
    return str(given)


def _facts(given: GraftTurn) -> dict[str, Any]:
    facts = _mapping("facts", given.facts)
    for name in ("finish", "abort_reason"):
        check_column(name, facts.get(name))
    error = facts.get("error")
    if error is not None and not (isinstance(error, dict) and isinstance(error.get("message"), str)):
        raise BadValue("the fact `error` is an object with a text `message`, and a `code` where there is one")
    for name in facts:
        if name in OWN - {"finish", "abort_reason", "error"} or name in ("homeless", "original_at"):
            raise BadValue(f"the fact {name!r} is Palaver's own; what `session.turn` takes goes into `options`")
    if isinstance(given.homeless, str):
        raise BadValue("`homeless` is a list of texts")
    if given.homeless:
        facts["homeless"] = [arguments.text("homeless", each) for each in given.homeless]
    parsed: dict[str, Any] = exact_json.parse(exact_json.encode(facts))
    return parsed


def _mapping(name: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise BadValue(f"`{name}` is a mapping, not {type(given).__name__}")
    return dict(given)


def _told(given: Any, origin: str) -> Told:
    if not isinstance(given, GraftUsage):
        raise BadValue(f"what a turn used is GraftUsages, not {type(given).__name__}")
    counts: Usage = counting.check_usage(token_usage.read(given.usage))
    cost = None if given.cost_usd is None else counting.check_cost(given.cost_usd)
    model = None if given.model is None else model_ref.checked(given.model)
    source = check_name("source", given.source) or origin
    return Told(counts, cost, None, check_name("key", given.key), model, source, time("at", given.at))
