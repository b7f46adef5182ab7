"""What a model should see: the system prompt, the latest summary, the turns it kept, and what follows.

The walk to the root crosses every compaction; only the context stops there. No tool call in it is without a result, and
what was pruned is not shown again. Nothing of this is stored.
"""

from __future__ import annotations

from typing import Any

from ...aisdk import chunks
from ...aisdk.folding import Fold
from ...aisdk.parts import INTERRUPTED, TOOL_ROW, is_open_tool
from ...base import exact_json
from ...db.engine import Tx
from ...db.queries import Q
from ...model import ROLES
from .. import damage, rows
from ..facts import TurnFacts
from . import sessions, summaries, transcript
from .transcript import Message

PRUNED = "[output pruned]"
_KINDS = {"text", "reasoning", "file", "source-url", "source-document", "step-start", "dynamic-tool"}


def of_session(tx: Tx, session_id: str, system: str | None) -> list[dict[str, Any]]:
    """What a model should see of a session: open turns are not in it."""
    sessions.require(tx, session_id)
    head = rows.head.one(tx, session=session_id)
    if head is not None and head.deleted_at is not None:
        return []
    return assemble(tx, head.turn_id if head else None, transcript.read_loose(tx, session_id), system)


def of_turn(tx: Tx, turn_id: str, parent_id: str | None, facts: TurnFacts, system: str | None) -> list[dict[str, Any]]:
    """What a model should see to go on with an open turn: what is before it, and what it has so far."""
    own = transcript.read_turn(tx, turn_id)
    told = prompt(tx, facts.get("metadata")) if system is None else system
    return assemble(tx, parent_id, own, told)


def assemble(tx: Tx, turn_id: str | None, extra: list[Message], system: str | None) -> list[dict[str, Any]]:
    """The messages on the way to a sealed turn, and `extra` ones behind them, as UIMessages for a model."""
    path = transcript.read_path(tx, turn_id)
    messages = [message for message in [*_after_summary(tx, turn_id, path), *extra] if message.role in ROLES]
    prompt = system if system is not None else _system_prompt(tx, [*path, *extra])
    pruned = _pruned(tx, turn_id)
    found = [_presentable(message, pruned) for message in messages]
    told = [{"id": "system", "role": "system", "parts": [{"type": "text", "text": prompt}]}] if prompt else []
    return told + [message for message in found if message["parts"]]


def _after_summary(tx: Tx, turn_id: str | None, messages: list[Message]) -> list[Message]:
    """The latest summary on the path as a system message, what it kept, and what follows."""
    kinds = rows.path_kinds.all(tx, turn=turn_id) if turn_id else []
    places = [place for place, (_, kind) in enumerate(kinds) if kind == summaries.KIND]
    if not places:
        return messages
    order, last = [each for each, _ in kinds], places[-1]
    by_turn: dict[str | None, list[Message]] = {}
    for message in messages:
        by_turn.setdefault(message.turn_id, []).append(message)
    carrier = by_turn.get(order[last], [])
    said = summaries.details([part for message in carrier for part in message.parts])
    if said is None or not isinstance(said.get("summary"), str):  # another program removed it: nothing is left out
        return [m for each, kind in kinds if kind != summaries.KIND for m in by_turn.get(each, [])]
    first = said.get("first_kept_turn_id")
    start = order.index(first) if first in order[:last] else last
    kept = [each for each, kind in kinds[start:] if kind != summaries.KIND]
    summary = [_summary(carrier[0], said["summary"])] if said["summary"].strip() else []
    return [*summary, *(m for each in kept for m in by_turn.get(each, []))]


def _summary(carrier: Message, text: str) -> Message:
    message = Message(carrier.id, carrier.client_id, "system", "{}", carrier.created_at, carrier.turn_id)
    message.parts = [exact_json.encode({"type": "text", "text": text})]
    return message


def _system_prompt(tx: Tx, messages: list[Message]) -> str | None:
    """The one that the latest answer was given under."""
    for message in reversed(messages):
        if message.role == "assistant" and '"system_prompt_digest"' in message.metadata:
            found = prompt(tx, damage.parsed(message.metadata))
            if found is not None:
                return found
    return None


def prompt(tx: Tx, metadata: Any) -> str | None:
    """The system prompt that an answer's metadata names."""
    digest = metadata.get("system_prompt_digest") if isinstance(metadata, dict) else None
    row = tx.one(Q.get_prompt, digest=digest) if isinstance(digest, str) else None
    (found,) = row or (None,)
    return None if found is None else str(found)


def _pruned(tx: Tx, turn_id: str | None) -> set[tuple[str, int]]:
    """(message, place) of the tool outputs that are not to be shown again."""
    if turn_id is None or tx.one(Q.any_pruned) is None:
        return set()
    return {(part.message_id, part.place) for part in rows.pruned_places.all(tx, turn=turn_id)}


def _presentable(message: Message, pruned: set[tuple[str, int]]) -> dict[str, Any]:
    """As a UIMessage whose tool calls all have results."""
    shown = message.ui()
    for place, part in enumerate(shown["parts"] if pruned else ()):
        if (message.id, place) in pruned and isinstance(part, dict) and "output" in part:
            part["output"] = PRUNED
    shown["parts"] = [part for part in shown["parts"] if _is_known(part)]
    if message.role != "assistant":
        return shown
    for part in shown["parts"]:
        _mend(part)
    if any(is_open_tool(part) for part in shown["parts"]):
        shown["parts"] = _closed(shown["parts"])
    return shown


def _is_known(part: Any) -> bool:
    """The SDK refuses a whole transcript for one part that it does not know."""
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(kind, str) or kind in (damage.KIND, TOOL_ROW):
        return False
    if kind == "file":
        _unwrap(part)
        return isinstance(part.get("url"), str) and isinstance(part.get("mediaType"), str)
    if kind in ("text", "reasoning"):
        return isinstance(part.get("text"), str)
    return kind in _KINDS or kind.startswith(("tool-", "data-"))


def _unwrap(part: dict[str, Any]) -> None:
    """A file as a program may write it that takes the contract's own table at its word: `data` is the whole chunk."""
    chunk = part.get("data")
    if "url" not in part and isinstance(chunk, dict):
        del part["data"]
        part |= {key: value for key, value in chunk.items() if key != "type"}


def _mend(part: dict[str, Any]) -> None:
    """What another program may have left out of a finished tool call."""
    state, approval = part.get("state"), part.get("approval")
    if state == "output-available":
        part.setdefault("input", {})  # also where a result came from outside before the call was whole
        part.setdefault("output", None)
    if state == "output-denied" and not (isinstance(approval, dict) and approval.get("approved") is False):
        part.pop("approval", None)
        part |= {"state": "output-error", "errorText": "denied"}
    elif state in ("output-available", "output-error") and not _is_granted(approval):
        part.pop("approval", None)


def _is_granted(approval: Any) -> bool:
    return isinstance(approval, dict) and approval.get("approved") is True


def _closed(parts: list[Any]) -> list[Any]:
    opened = [chunks.open_values(exact_json.dump(part)) for part in parts]
    fold = Fold({"id": "", "role": "assistant", "parts": opened}, resets=False)
    fold.close(INTERRUPTED, text_state=True)
    return [exact_json.parse(exact_json.dump(fold.part(index))) for index in range(len(opened))]
