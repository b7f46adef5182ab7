"""Compaction: a turn whose one message carries a `data-compaction` part, the ledger's fields in it.

It says which turns its summary stands for and which are kept. Nothing is taken away: the walk to the root crosses it,
and only `context()` stops there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base import arguments, exact_json
from ...db.engine import Tx
from ...db.queries import Q
from ...errors import BadValue, NotOnPath, TurnNotFound
from .. import counting, damage
from ..heads import Head
from ..turn import message_input, seal
from ..turn.open_turn import OpenTurn

KIND = "compaction"
COUNTS = (
    "tokens_before", "tokens_after", "summary_tokens", "summarization_input_tokens", "summarization_output_tokens",
    "duration_ms",
)  # fmt: skip


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
    def of(cls, summary: str, given: dict[str, Any]) -> Compaction:
        """From the keyword arguments of `compact`."""
        own = {name: given.pop(name) for name in cls._fields[1:-1] if name in given}
        said = cls(summary, **own, counts=given)
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
            if name not in COUNTS:
                raise BadValue(f"compact() has no {name!r}; there are {', '.join(COUNTS)}")
            counting.check_count(name, value)


class Scope(NamedTuple):
    """Which turns are summarised, and which are kept."""

    through: str
    first_kept: str | None
    turns: int


def scope(tx: Tx, head: Head, keep_from: str | None) -> Scope:
    path = [(row[0], row[1]) for row in tx.all(Q.path_kinds, turn=head.turn_id)]
    if not path:
        raise BadValue("nothing was said yet: there is nothing to summarise")
    order = [turn_id for turn_id, _ in path]
    if keep_from is None:
        end = len(order)
    elif keep_from not in order:
        if tx.one(Q.parent_of, turn=keep_from) is None:
            raise TurnNotFound(keep_from)
        raise NotOnPath(keep_from, head.session_id)
    else:
        end = order.index(keep_from)
    if end == 0:
        raise BadValue("everything would be kept: name a later turn as keep_from")
    return Scope(order[end - 1], keep_from, sum(kind != KIND for _, kind in path[:end]))


def write(tx: Tx, head: Head, given: Compaction, which: Scope) -> OpenTurn:
    """The compaction's turn on the head, sealed. The caller moves the head to it."""
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
    part = {"type": message_input.COMPACTION, "data": {key: value for key, value in data.items() if value is not None}}
    message = message_input.compaction_message(part, _usage(given))
    return seal.commit(tx, head, [], [message], kind=KIND, parent_id=head.turn_id)


def _usage(given: Compaction) -> dict[str, Any]:
    """The tokens of the summarising call are the session's, too."""
    used = {
        "input": given.counts.get("summarization_input_tokens", 0),
        "output": given.counts.get("summarization_output_tokens", 0),
    }
    return {"usage": used} if any(used.values()) else {}


def details(parts: list[str]) -> dict[str, Any] | None:
    """The fields of a compaction, from the parts of its message."""
    for text in parts:
        part = damage.parsed(text)
        if (
            isinstance(part, dict)
            and part.get("type") == message_input.COMPACTION
            and isinstance(part.get("data"), dict)
        ):
            return part["data"]  # type: ignore[no-any-return]
    return None
