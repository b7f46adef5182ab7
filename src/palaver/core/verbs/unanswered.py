"""A turn that comes whole but for the answers to its tool calls: written in one transaction, and left waiting for them.

Its chunks are written with it, so whoever resumes the turn finds it as if it had been streamed. Nobody owns it:
recovery leaves it alone, and `answer` puts the results in.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...aisdk import chunks
from ...aisdk.chunks import Item
from ...aisdk.folding import Fold
from ...aisdk.parts import FINAL, is_open_tool, is_tool
from ...aisdk.unfolding import unfold
from ...base import exact_json
from ...base.clock import now_ms
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import BadValue
from ...keywords import CommitKeywords
from ...model import TurnInfo
from ..read import turns
from ..runtime import Runtime
from ..turn import message_input, response
from ..turn.open_turn import OpenTurn
from . import begin
from .begin import NewTurn

_FINISH = chunks.parse({"type": "finish", "finishReason": "tool-calls"})


class UnansweredTurn(NamedTuple):
    """What is said before the answer, and the answer as chunks."""

    new: NewTurn
    items: list[Item]

    @classmethod
    def of(
        cls, messages: Any, expected: Any, given: CommitKeywords, usage: Any = None, cost_usd: Any = None
    ) -> UnansweredTurn:
        """What a caller gave, looked at: the last message is the answer whose calls are open."""
        if usage is not None or cost_usd is not None:
            raise BadValue("what a turn used is told when it goes on: resume it, and call turn.usage(…)")
        given_ones = list(message_input.several(messages))
        answer = message_input.as_dict(given_ones.pop()) if given_ones else {}
        if message_input.role_of(answer) != "assistant":
            raise BadValue("a turn that waits ends with an assistant message whose tool calls have no result yet")
        return cls(NewTurn.of(given_ones, expected, given).waiting(), _items(answer))


def _items(answer: dict[str, Any]) -> list[Item]:
    parts = [_opened(part) for part in message_input.parts_of(answer)]
    if not any(is_open_tool(part) for part in parts):
        raise BadValue("every tool call of this turn has its result; commit it without status='waiting'")
    text = message_input.metadata_of(answer)
    about = None if text is None else exact_json.Raw(text.encode())
    said = unfold(parts, about, message_input.client_id_of(answer))
    items = list(map(chunks.parse, said))
    for item in items:
        chunks.refuse_unfit(item)
    _refuse_doubles(items, len(parts))
    return [*items, _FINISH]


def _refuse_doubles(items: list[Item], count: int) -> None:
    """Two calls, or two pieces of data, of one id are one to a stream: the second would be lost in the first."""
    fold = Fold({"id": "", "role": "assistant", "parts": []}, resets=False)
    for chunk, _ in items:
        fold.apply(chunk)
    if len(fold.parts) != count:
        raise BadValue("two parts of a turn that waits have the same id; give each an id of its own")


def _opened(part: Any) -> Any:
    """A part that is given as JSON text, with its values as they are."""
    return chunks.open_values(part) if isinstance(part, bytes | exact_json.Raw) else part


def commit_and_tell(
    tx: Tx, runtime: Runtime, session_id: str, given: UnansweredTurn, *, carefully: bool = False
) -> TurnInfo:
    return turns.infos(tx, [commit(tx, runtime, session_id, given, carefully=carefully).id])[0]


def commit(tx: Tx, runtime: Runtime, session_id: str, given: UnansweredTurn, *, carefully: bool = False) -> OpenTurn:
    turn = begin.begin(tx, runtime, session_id, given.new, carefully=carefully)
    for chunk, _ in given.items:
        turn.fold.apply(chunk)
    seq, now = response.open_response(tx, turn), now_ms()
    texts = [text for _, text in given.items]
    for number, text in enumerate(texts, seq):
        tx.defer_values(Q.insert_event, session_id, number, "chunk", turn.begin_seq, text, now)
    turn.chunks = len(texts)
    for index, part in enumerate(turn.fold.parts):
        response.write_part(tx, turn, index)
        if is_tool(part["type"]) and part.get("state") in FINAL:
            turn.add(tx, "result", turn.part_ids[index])
    response.write_metadata(tx, turn)
    waits = exact_json.encode({"turn": turn.id})
    tx.defer_values(Q.insert_event, session_id, seq + len(texts), "wait", turn.begin_seq, waits, now)
    return turn
