"""A turn that is compacted while it runs ends at its last finished step; what came after goes on in another turn."""

from __future__ import annotations

from typing import Any

from ...aisdk import token_usage
from ...base import exact_json
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import ChunkError, Refused
from .. import heads, rows
from ..facts import IN_MEMORY, TurnFacts
from ..foreign import hidden_stamps
from ..read.replay import new_fold, replay
from ..runtime import Runtime
from ..settle import landing
from ..turn import open_turn, response, seal
from ..turn.open_turn import NOTHING, OpenTurn
from . import compaction
from .compaction import Compaction


def compact(
    tx: Tx, runtime: Runtime, turn: OpenTurn, said: Compaction, keep_from: str | None
) -> tuple[OpenTurn, list[str]] | None:
    """Seal an open turn at its last finished step, write the summary after it, and begin the turn that goes on; beside
    it, the chunks that are left over. None: somebody else moved the head first."""
    row = rows.turn.one(tx, turn=turn.id)
    owner = row.owner if row else None
    heads.lock(tx, turn.session_id, timestamps=0)  # numbers go on after those of the chunks that are taken back
    rest = cut_back(tx, turn)
    if landing.land(tx, runtime, turn, "completed") is None:
        return None
    head = heads.lock(tx, turn.session_id, timestamps=1)
    summary = compaction.write(tx, head, said, compaction.scope(tx, head, keep_from))
    seal.advance_head(tx, head, summary, kind="compact")
    head = heads.lock(tx, turn.session_id, timestamps=0)
    if head.open_turns:
        hidden_stamps.hide_open_turns(tx, head)
    facts: TurnFacts = turn.facts.copy()
    for key in (*IN_MEMORY, "unknown_chunks"):  # of how it ended, and of its own stream
        facts.pop(key, None)  # type: ignore[misc]
    facts["continues"] = turn.id
    return open_turn.begin(tx, head, [], owner=owner, facts=facts), rest


def cut_back(tx: Tx, turn: OpenTurn) -> list[str]:
    """Take an open turn back to the end of its last step; the chunks that came after it, as text."""
    events = tx.all(Q.events_of_turn, session=turn.session_id, begin_seq=turn.begin_seq)
    ends = [place for place, (_, kind, data, _) in enumerate(events) if kind == "chunk" and _is_end(data)]
    if not ends:
        raise Refused(f"no step of turn {turn.id} is finished yet; finish one, or compact before the next turn")
    after = events[ends[-1] + 1 :]
    if any(kind == "resolve" for _, kind, _, _ in after):
        raise Refused(f"a tool of turn {turn.id} was answered within the step that runs; finish the step first")
    rest = [data for _, kind, data, _ in after if kind == "chunk"]
    if rest:
        _take_back(tx, turn, events[: ends[-1] + 1])
    return rest


def go_on(turn: OpenTurn, chunk: dict[str, Any]) -> int | None:
    """Fold a chunk of the unfinished step into the turn that continues."""
    try:
        return turn.fold.apply(chunk)
    except ChunkError as error:
        why = "what came after the last step belongs to it; finish the step that runs first"
        raise Refused(f"{why} ({error})") from None


def _is_end(text: str) -> bool:
    return '"finish-step"' in text and exact_json.parse(text).get("type") == "finish-step"


def _take_back(tx: Tx, turn: OpenTurn, events: list[tuple[object, ...]]) -> None:
    fold = new_fold(turn.facts)
    turn.chunks = replay(fold, events)
    turn.replace_fold(fold)
    gone, turn.part_ids = turn.part_ids[len(fold.parts) :], turn.part_ids[: len(fold.parts)]
    for part_id in gone:
        tx.defer(Q.delete_part, id=part_id)
    turn.rows = {}
    if not turn.told and turn.usage != NOTHING:  # tokens that streamed in move on with their step
        left = token_usage.from_metadata(exact_json.parse(turn.given_metadata)) or NOTHING
        response.count_usage(tx, turn, left, turn.cost)
        if turn.response_id is not None and left == NOTHING:
            tx.defer(Q.drop_metadata_usage, message=turn.response_id)
            turn.counted = None
    kept = [entry for entry in turn.entries if not (entry.kind == "result" and entry.ref in gone)]
    if len(kept) < len(turn.entries):
        turn.drop_entries(tx)
        for entry in kept:
            turn.add(tx, entry.kind, entry.ref, entry.client_id, entry.salt, entry.leaf)
