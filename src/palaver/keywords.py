"""What callers give by name, for editors and type checkers: the options of each verb, one TypedDict per family.

The names in them are also those that a verb knows at run time: any other is a TypeError that lists them. Who wraps a
verb passes them on the same way:

    def ask(session: palaver.Session, question: str, **given: Unpack[TurnKeywords]) -> palaver.Turn:
        return session.turn(question, **given)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypedDict

from .base.exact_json import Raw

MessageLike = str | bytes | Raw | Mapping[str, Any]
"""One message: text (what the user said), a dict, or JSON text, whose values are kept byte for byte."""

MessagesLike = MessageLike | Iterable[MessageLike] | None
"""One message, several, or none."""

Relation = Literal["spawn", "continue", "import"]
"""How a new session comes from its parent."""

ModelLike = str | Mapping[str, Any]
"""Which model: "provider/model", or {"provider_id": …, "model_id": …, "variant"?: …}."""


Count = Callable[[dict[str, Any]], int]
"""What tells how many tokens a UIMessage is."""


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
    tools: Iterable[str | Mapping[str, Any]] | None
    permissions: Iterable[Mapping[str, Any] | Raw] | None
    settings: Mapping[str, Any] | None


class _Manner(TypedDict, total=False):
    """How a turn works, for lists and views: who answers as what, where, in which mode, and what set it off."""

    role: str | None
    persona: str | None
    workspace: str | None
    mode: str | None
    source_event: str | None


class CommitKeywords(_EveryTurn, _Snapshots, _Manner, total=False):
    """What is in force for a turn that comes whole."""

    system_prompt: str | None
    trigger: Mapping[str, Any] | None


class EnqueueKeywords(_EveryTurn, _Manner, total=False):
    """What goes with a message that waits its turn."""

    system_prompt: str | None
    trigger: Mapping[str, Any] | None


class ClaimKeywords(_EveryTurn, _Snapshots, _Manner, total=False):
    """What is in force for a queued message that begins."""

    system_prompt: str | None


class TurnKeywords(EnqueueKeywords, ClaimKeywords, total=False):
    """What is in force for a turn that begins: `turn`, `regenerate`, `edit`, `recording.record`."""


class FactKeywords(TypedDict, total=False):
    """What a session belongs to, by the names that everybody uses; any other name goes into `facts={…}`."""

    source: str | None
    user: str | None
    account: str | None
    project: str | None
    workspace_id: str | None
    persona: str | None
    routing_key: str | None
    task: str | None
    version: str | None
    provider: str | None
    policy: str | None


class UpdateKeywords(FactKeywords, total=False):
    """What can be changed of a session: its facts, and two columns of its row."""

    workspace: str | None
    model: ModelLike | None


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
