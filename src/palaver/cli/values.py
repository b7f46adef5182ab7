"""The nouns as JSON, with stable keys, and what each key means."""

from __future__ import annotations

from typing import Any

import msgspec

from palaver import Line, Session, SessionInfo, Store, TurnInfo

_AT_ONCE = 500  # sessions whose facts are asked for by one question

SESSION_KEYS = {
    "id": "its id",
    "agent": "who talks",
    "workspace": "the directory it works in, or null",
    "model": "the latest model: provider_id, model_id, variant?",
    "title": "display title, or null",
    "preview": "the first thing the user said, or null",
    "parent_id": "the session it came from, or null",
    "parent_message_id": "the user message it branched at, or null",
    "relation": "root, fork, spawn, continue or import",
    "revision": "how often its head moved",
    "turn_id": "the turn its head points at, or null",
    "turns": "turns on its path",
    "messages": "messages on its path",
    "usage": "tokens: input, output, reasoning, cache_read, cache_write",
    "total_tokens": "their sum",
    "cost_usd": "as reported; never computed",
    "metadata": "the application's own object",
    "created_at": "epoch ms",
    "updated_at": "when anything of it last changed, epoch ms; lists go by it",
    "archived_at": "epoch ms, or null",
    "deleted_at": "epoch ms, or null",
    "app_id": "the application's own id, or null",
    "waiting": "how many turns wait for an approval or a client's tool",
    "live": "how many turns are being written",
    "ended_at": "when the application said that it is over, epoch ms, or null",
    "end_reason": "why, or null",
    "last_message_at": "its last activity: when it last got a message of its own, epoch ms, or null",
    "facts": "what it belongs to: project, user … and what the application added, by name",
}

TURN_KEYS = {
    "id": "its id",
    "parent_id": "the turn before it, or null",
    "session_id": "the session that began it",
    "kind": "turn, compaction or foreign",
    "status": "pending, streaming, waiting, completed, failed or aborted",
    "base_revision": "the head's revision it was begun on",
    "depth": "turns from the root to here",
    "started_at": "epoch ms",
    "sealed_at": "epoch ms, or null while it is open",
    "digest": "hex, or null while it is open",
    "response_id": "the assistant message it writes, or null",
    "usage": "tokens: input, output, reasoning, cache_read, cache_write",
    "cost_usd": "as reported; never computed",
    "thread_tokens": "tokens from the root to here",
    "thread_messages": "messages from the root to here",
    "finish": "the reason that its stream gave for its end, or null",
    "error": "what it failed of: message, code; or null",
    "abort_reason": "why it was aborted, or null",
    "model": "the model it was begun with or used, or null",
    "agent": "who answers, if another than the session's; or null",
    "system_prompt": "digest of the system prompt in force, or null",
    "toolset": "name of the set of tools in force, or null",
    "tools": "names of the tools in force, or null",
    "permissions_granted": "the rules in force",
    "permissions_used": "what it made use of",
    "trigger": "what set it off, or null",
    "role": "of the agent in this turn, or null",
    "persona": "who it speaks as, or null",
    "workspace": "where it works, or null",
    "mode": "how it works, or null",
    "source_event": "what set it off, by its source's name, or null",
    "tool_definitions": "digest of the definitions of its tools, or null",
    "settings": "digest of the request's settings, or null",
    "unknown_chunks": "chunks of its stream that this version does not know, as they came",
    "facts": "what else is known of it: of a grafted turn, what its importer said",
}

LINE_KEYS = {
    "seq": "its number among the session's events",
    "kind": "create, fork, seal, begin, rewind, undo, redo, adopt, recover, delete …",
    "turn_id": "where the head went, or null",
    "revision": "the head's revision after it",
    "at": "epoch ms",
    "ref_seq": "undo and redo: the line whose head they brought back",
    "reason": "why, or null",
}

HIT_KEYS = {
    "session_id": "a session that sees it",
    "turn_id": "the turn it is in, or null",
    "message_id": "the message; `palaver show SESSION@MESSAGE` opens it",
    "part_id": "of a tool's result, the part; else null",
    "role": "user, assistant or system, or tool: a tool's result",
    "at": "when it was said, epoch ms",
    "title": "of the session, or null",
    "source": "the way that the session came by, or null",
    "model": "the model of its turn, or null",
    "snippet": "the part of its text that shows best why it was found, on one line",
    "marks": "where in the snippet the words are: pairs of begin and end, in characters (code points)",
    "before": "the beginning of the message before it, or null",
    "after": "the beginning of the message after it, or null",
    "hidden": "true: rewound, queued or a stray",
}

# What `Session`, `Turn`, `Line` and `Hit` mean in the documented keys of a command.
OBJECTS = {"Session": SESSION_KEYS, "Turn": TURN_KEYS, "Line": LINE_KEYS, "Hit": HIT_KEYS}


def session_json(session: Session) -> dict[str, Any]:
    return _with_facts(session.info, dict(session.facts))


def sessions_json(store: Store, found: list[SessionInfo]) -> list[dict[str, Any]]:
    """A list of them: their facts are asked for together, for a server may be far away."""
    facts: dict[str, dict[str, str]] = {}
    for begin in range(0, len(found), _AT_ONCE):
        ids = ", ".join("'" + one.id.replace("'", "''") + "'" for one in found[begin : begin + _AT_ONCE])
        query = f"SELECT session_id, name, value FROM session_facts WHERE session_id IN ({ids}) ORDER BY name"
        _, rows = store.db.query(query)
        for session_id, name, value in rows:
            facts.setdefault(session_id, {})[name] = value
    return [_with_facts(one, facts.get(one.id, {})) for one in found]


def _with_facts(info: SessionInfo, facts: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(info)
    return {**found, "facts": facts}


def turn_json(turn: TurnInfo) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(turn, name) for name in turn.__struct_fields__}
    for name in ("usage", "error"):
        values[name] = msgspec.to_builtins(values[name])
    values["digest"] = turn.digest.hex() if turn.digest else None
    return values


def line_json(line: Line) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(line)
    return found
