"""Compaction: a turn whose one message carries a `data-compaction` part, the ledger's fields in it.

It says which turns its summary stands for and which are kept. Nothing is taken away: the walk to the root crosses it,
and only `context()` stops there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...aisdk.parts import COMPACTION
from ...base import arguments, exact_json
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import BadValue, NotOnPath, TurnNotFound
from ...keywords import CompactKeywords
from ...model import TurnInfo
from .. import counting, rows
from ..foreign import adopt, hidden_stamps
from ..read import summaries, turns
from ..read.heads import Head
from ..read.summaries import KIND
from ..runtime import Runtime
from ..settle import preflight
from ..turn import message_input, seal
from ..turn.message_input import NewMessage
from ..turn.seal import Sealed


class Compaction(NamedTuple):
    """What a caller says about a summary."""

    summary: str
    compaction_type: str = "summary"
    model: str | None = None
    provider: str | None = None
    trigger: str | None = None
    auto: bool | None = None  # the host began it by itself,
    overflow: bool | None = None  # because the context was full
    metadata: dict[str, Any] | None = None
    counts: dict[str, int] = {}  # noqa: RUF012

    @classmethod
    def of(cls, summary: str, given: CompactKeywords) -> Compaction:
        """From the keyword arguments of `compact`."""
        arguments.options("compact()", given, CompactKeywords.__annotations__)
        counts: dict[str, Any] = {**given}
        own = {name: counts.pop(name) for name in cls._fields[1:-1] if name in counts}
        said = cls(summary, **own, counts=counts)
        said.check()
        return said

    def check(self) -> None:
        if not isinstance(self.summary, str) or not (self.summary.strip() or self.compaction_type == "sliding_window"):
            raise BadValue("a summary is text that says something (only a sliding_window may drop turns without one)")
        if not isinstance(self.compaction_type, str) or not self.compaction_type:
            raise BadValue("compaction_type is summary, sliding_window, selective or another word")
        for name, flag in (("auto", self.auto), ("overflow", self.overflow)):
            if flag is not None and type(flag) is not bool:
                raise BadValue(f"{name} is true or false, not {arguments.shown(flag)}")
        for name in ("compaction_type", "model", "provider", "trigger"):
            exact_json.check_column(name, getattr(self, name))
        for name, value in self.counts.items():
            counting.check_count(name, value)


class Scope(NamedTuple):
    """Which turns are summarised, and which are kept."""

    through: str
    first_kept: str | None
    turns: int


def scope(tx: Tx, head: Head, keep_from: str | None) -> Scope:
    path = rows.path_kinds.all(tx, turn=head.turn_id)
    if not path:
        raise BadValue("nothing was said yet: there is nothing to summarise")
    order = [turn.id for turn in path]
    if keep_from is None:
        end = len(order)
    elif keep_from not in order:
        if rows.parent_of.one(tx, turn=keep_from) is None:
            raise TurnNotFound(keep_from)
        raise NotOnPath(keep_from, head.session_id)
    else:
        end = order.index(keep_from)
    if end == 0:
        raise BadValue("everything would be kept: name a later turn as keep_from")
    return Scope(order[end - 1], keep_from, sum(turn.kind != KIND for turn in path[:end]))


def compact(
    tx: Tx, runtime: Runtime, session_id: str, said: Compaction, keep_from: str | None, expected: int | None
) -> TurnInfo:
    """Let a summary stand for what was said before; the head moves to its turn."""
    head = preflight.ready(tx, runtime, session_id, expected=expected, timestamps=1, moving_on=True)
    head = adopt.adopt_beside(tx, head) if expected is None else head
    turn = write(tx, head, said, scope(tx, head, keep_from))
    head = seal.advance_head(tx, head, turn, kind="compact")
    if head.open_turns:
        hidden_stamps.hide_open_turns(tx, head)
    row = rows.turn.one(tx, turn=turn.id)
    assert row is not None
    return turns.info(row)


def write(tx: Tx, head: Head, given: Compaction, which: Scope) -> Sealed:
    """The compaction's turn on the head, sealed. The caller moves the head to it."""
    said, data = message(given, which)
    turn = seal.commit(tx, head, [said], kind=KIND, parent_id=head.turn_id)
    tx.defer(Q.put_compaction, turn=turn.id, **summaries.columns(data))
    return turn


def message(given: Compaction, which: Scope) -> tuple[NewMessage, dict[str, Any]]:
    """The one message of a compaction, and the fields in it."""
    data = {
        "summary": given.summary,
        "summarized_through_turn_id": which.through,
        "first_kept_turn_id": which.first_kept,
        "turns_summarized": which.turns,
        "compaction_type": given.compaction_type,
        "model": given.model,
        "provider": given.provider,
        **given.counts,
        "trigger": given.trigger,
        "auto": given.auto,
        "overflow": given.overflow,
        "metadata": given.metadata,
    }
    said = {key: value for key, value in data.items() if value is not None}
    return message_input.compaction_message({"type": COMPACTION, "data": said}, _usage(given)), said


def _usage(given: Compaction) -> dict[str, Any]:
    """The tokens of the summarising call are the session's, too."""
    used = {
        "input": given.counts.get("summarization_input_tokens", 0),
        "output": given.counts.get("summarization_output_tokens", 0),
    }
    return {"usage": used} if any(used.values()) else {}
