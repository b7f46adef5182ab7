"""What callers give by name, for editors and type checkers: the options of each verb, one TypedDict per family.

The names in them are also those that a verb knows at run time: any other is a TypeError that lists them. Who wraps a
verb passes them on the same way:

    def ask(session: palaver.Session, question: str, **given: Unpack[TurnKeywords]) -> palaver.Turn:
        return session.turn(question, **given)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypedDict

from .base.exact_json import Raw

MessageLike = str | bytes | Raw | Mapping[str, Any]
"""One message: text (what the user said), a dict, or JSON text, whose values are kept byte for byte."""

MessagesLike = MessageLike | Iterable[MessageLike] | None
"""One message, several, or none."""

ModelLike = str | Mapping[str, Any]
"""Which model: "provider/model", or {"provider_id": …, "model_id": …, "variant"?: …}."""


class EngineKeywords(TypedDict, total=False):
    """How a place is opened, whatever it is."""

    create: bool
    durability: Literal["boundary", "full", "normal"]
    readonly: bool
    timeout: float


class PostgresKeywords(TypedDict, total=False):
    """How a server is spoken to."""

    lease: float
    pooler: bool


class StoreKeywords(TypedDict, total=False):
    """What a store keeps, and when it writes."""

    save_on: Literal["chunk", "step", "turn"]
    save_buffer_ms: float | None
    save_buffer_size: int | None
    events: Literal["live", "full"] | None
    trim_after: float
    recover_every: float | None


class OpenKeywords(EngineKeywords, PostgresKeywords, StoreKeywords, total=False):
    """The options of `palaver.open`. Those of PostgresKeywords are for an address of a server."""


class _EveryTurn(TypedDict, total=False):
    model: ModelLike | None
    agent: str | None
    snapshot_id: str | None


class _Snapshots(TypedDict, total=False):
    toolset: str | None
    tools: Iterable[str] | None
    permissions: Iterable[Mapping[str, Any] | Raw] | None


class CommitKeywords(_EveryTurn, _Snapshots, total=False):
    """What is in force for a turn that comes whole."""

    trigger: Mapping[str, Any] | None


class EnqueueKeywords(_EveryTurn, total=False):
    """What goes with a message that waits its turn."""

    system_prompt: str | None
    trigger: Mapping[str, Any] | None


class ClaimKeywords(_EveryTurn, _Snapshots, total=False):
    """What is in force for a queued message that begins."""

    system_prompt: str | None


class TurnKeywords(EnqueueKeywords, ClaimKeywords, total=False):
    """What is in force for a turn that begins: `turn`, `regenerate`, `edit`, `recording.record`."""


class CompactKeywords(TypedDict, total=False):
    """What is known of a summary: who made it, why, and what it cost."""

    compaction_type: str
    model: str | None
    provider: str | None
    trigger: str | None
    auto: bool | None
    overflow: bool | None
    metadata: dict[str, Any] | None
    tokens_before: int
    tokens_after: int
    summary_tokens: int
    summarization_input_tokens: int
    summarization_output_tokens: int
    duration_ms: int
