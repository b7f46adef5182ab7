"""What holds in every store at every moment, written down a second time: standard library only, no Palaver code.

Each rule yields sentences about what breaks it. `settled` rules hold when every writer is dead and recovery ran.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from .history import COUNTS, FINAL
from .snapshot import Row, Snapshot

OPEN, SEALED = ("pending", "streaming", "waiting"), ("completed", "failed", "aborted")
USAGE_COLUMNS = ("input_tokens", "output_tokens", "reasoning_tokens", "cache_read", "cache_write")
ROLLUPS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cache_read", "cache_write")


def broken(store: Snapshot, *, settled: bool) -> list[str]:
    found = list(store.damage)
    for rule in RULES + ((nothing_is_left_open,) if settled else ()):
        found += ask(rule, store)
    return found


def ask(rule: Callable[..., Iterator[str]], *given: Any) -> list[str]:
    """What a rule finds; rows so broken that it cannot even look are a finding too."""
    try:
        return list(rule(*given))
    except (LookupError, TypeError, ValueError) as error:
        return [f"{rule.__name__} cannot be checked: {type(error).__name__} {error}"]


# ---------------------------------------------------------------- turns


def turns_are_open_or_sealed(store: Snapshot) -> Iterator[str]:
    for turn in store.turns.values():
        name = f"turn {turn['id']}"
        if turn["status"] not in OPEN + SEALED:
            yield f"{name} has the status {turn['status']}"
        sealed = turn["status"] in SEALED
        if sealed != (turn["sealed_at"] is not None) or sealed != (turn["digest"] is not None):
            yield f"{name} is {turn['status']} but sealed_at={turn['sealed_at']}, digest={turn['digest']}"
        if (turn["owner"] is not None) != (turn["status"] == "streaming"):
            yield f"{name} is {turn['status']} and its owner is {turn['owner']}"


def turns_count_from_their_parents(store: Snapshot) -> Iterator[str]:
    for turn in store.turns.values():
        parent = store.turns.get(turn["parent_id"] or "")
        if turn["parent_id"] is not None and (parent is None or parent["status"] not in SEALED):
            yield f"turn {turn['id']} stands on {turn['parent_id']}, which is not a sealed turn"
        before = parent or {"depth": 0, "thread_tokens": 0, "thread_messages": 0}
        expected = [before["depth"] + 1, before["thread_tokens"], before["thread_messages"]]
        if turn["status"] in SEALED:
            expected[1] += sum(turn[c] for c in USAGE_COLUMNS)
            expected[2] += len(store.listed(turn))
        if [turn["depth"], turn["thread_tokens"], turn["thread_messages"]] != expected:
            yield f"turn {turn['id']}: depth, tokens, messages should be {expected}"


def entries_point_at_rows(store: Snapshot) -> Iterator[str]:
    for turn_id, entries in store.entries_of.items():
        if turn_id not in store.turns:
            yield f"entries of {turn_id}, a turn that is not there"
        if [e["seq"] for e in entries] != list(range(len(entries))):
            yield f"turn {turn_id}: entries are not numbered 0 …"
        for entry in entries:
            rows = store.messages if entry["kind"] == "message" else store.parts
            if entry["ref"] not in rows:
                yield f"turn {turn_id} lists {entry['kind']} {entry['ref']}, which is not there"


def sealed_turns_list_their_parts(store: Snapshot) -> Iterator[str]:
    for turn in store.turns.values():
        if turn["status"] in SEALED:
            listed = [e["ref"] for e in store.entries_of.get(turn["id"], []) if e["kind"] == "part"]
            there = [p["id"] for m in store.listed(turn) for p in store.parts_of.get(m, [])]
            if listed != there:
                yield f"turn {turn['id']} lists parts {listed}, its messages have {there}"


def every_message_is_listed(store: Snapshot) -> Iterator[str]:
    listed = {e["ref"] for e in store.rows["turn_entries"] if e["kind"] == "message"}
    for message in store.messages.values():
        if message["id"] not in listed:
            yield f"message {message['id']} is in no turn"
    for turn in store.turns.values():
        if turn["response_id"] is not None and turn["response_id"] not in store.listed(turn):
            yield f"turn {turn['id']} does not list its response"


def sealed_turns_have_no_open_tools(store: Snapshot) -> Iterator[str]:
    for turn in store.turns.values():
        if turn["status"] in SEALED:
            for message in store.listed(turn):
                for part in store.parts_of.get(message, []):
                    if part["tool_state"] is not None and part["tool_state"] not in FINAL:
                        yield f"turn {turn['id']} is sealed, tool {part['tool_call_id']} is {part['tool_state']}"


def nothing_is_left_open(store: Snapshot) -> Iterator[str]:
    """Waiting turns may stay, and dead ones behind them on the same revision."""
    for turn in store.turns.values():
        waiting = store.open_turns(turn["session_id"], "waiting")
        behind = any(w["base_revision"] == turn["base_revision"] for w in waiting)
        if turn["status"] in ("pending", "streaming") and not behind:
            yield f"turn {turn['id']} is still {turn['status']} and nobody writes it"


# ---------------------------------------------------------------- rows


def rows_are_well_formed(store: Snapshot) -> Iterator[str]:
    for message_id, parts in store.parts_of.items():
        if [p["index"] for p in parts] != list(range(len(parts))):
            yield f"message {message_id}: parts are numbered {[p['index'] for p in parts]}"
        for part in parts:
            data = json.loads(part["data_json"])
            state = data.get("state") if data["type"].startswith("tool-") else None
            home = store.messages[message_id]["session_id"]
            if (part["type"], part["tool_state"], part["session_id"]) != (data["type"], state, home):
                yield f"part {part['id']}: its columns do not say what its data says"


def times_increase(store: Snapshot) -> Iterator[str]:
    last: dict[str, int] = {}
    for message in store.rows["chat_messages"]:
        session, at = message["session_id"], message["created_at"]
        if at <= last.get(session, 0):
            yield f"message {message['id']}: created_at does not increase"
        last[session] = at
    for session, at in last.items():
        if store.heads[session]["last_at"] < at:
            yield f"session {session}: last_at is behind its rows"


def hidden_is_what_nobody_sees(store: Snapshot) -> Iterator[str]:
    shown = {session: set(store.shown(session)) for session in store.heads}
    for message in store.messages.values():
        hidden = "hidden_at" in json.loads(message["metadata_json"])
        if hidden == (message["id"] in shown[message["session_id"]]):
            yield f"message {message['id']} is {'hidden' if hidden else 'not hidden'}: its session shows otherwise"


def usage_adds_up(store: Snapshot) -> Iterator[str]:
    for session in store.sessions.values():
        turns = [t for t in store.turns.values() if t["session_id"] == session["id"]]
        sums = [sum(t[c] for t in turns) for c in USAGE_COLUMNS]
        if [session[c] for c in ROLLUPS] != sums or session["total_tokens"] != sum(sums):
            yield f"session {session['id']}: rollups {[session[c] for c in ROLLUPS]}, turns add up to {sums}"
    for turn in store.turns.values():
        if turn["usage_told"] and turn["response_id"] is not None:
            usage = json.loads(store.messages[turn["response_id"]]["metadata_json"]).get("usage")
            if usage != dict(zip(COUNTS, (turn[c] for c in USAGE_COLUMNS), strict=True)):
                yield f"turn {turn['id']}: its message says usage {usage}"


# ---------------------------------------------------------------- heads


def heads_stand_where_the_reflog_says(store: Snapshot) -> Iterator[str]:
    for session_id in store.sessions:
        head, lines = store.heads.get(session_id), store.lines_of.get(session_id, [])
        if head is None or not lines:
            yield f"session {session_id} has no head or no reflog"
            continue
        if (head["turn_id"], head["revision"]) != (lines[-1]["turn_id"], lines[-1]["revision"]):
            yield f"session {session_id}: the head is not where its last line says"
        if [line["revision"] for line in lines] != list(range(len(lines))):
            yield f"session {session_id}: reflog revisions {[line['revision'] for line in lines]}"
        if len(lines) > 1 and head["prev_turn_id"] != lines[-2]["turn_id"]:
            yield f"session {session_id}: prev_turn_id is not the head before"
        if head["turn_id"] is not None and store.turns.get(head["turn_id"], {}).get("status") not in SEALED:
            yield f"session {session_id}: its head is not a sealed turn"


def events_are_numbered_once(store: Snapshot) -> Iterator[str]:
    for session_id in store.heads:
        begun = {t["begin_seq"] for t in store.turns.values() if t["session_id"] == session_id}
        events, lines = store.events_of.get(session_id, []), store.lines_of.get(session_id, [])
        numbers = [row["seq"] for row in events + lines]
        if len(set(numbers)) != len(numbers):
            yield f"session {session_id}: two events have one number"
        if lines and store.heads[session_id]["event_seq"] < lines[-1]["seq"]:
            yield f"session {session_id}: event_seq is behind the reflog"
        for event in events:
            if event["turn"] is not None and event["turn"] not in begun:
                yield f"session {session_id}: event {event['seq']} belongs to no turn"


# ---------------------------------------------------------------- digests


def digest(*fields: bytes) -> bytes:
    return hashlib.sha256(b"".join(len(f).to_bytes(8, "big") + f for f in fields)).digest()


def digests_are_right(store: Snapshot) -> Iterator[str]:
    told = {t["response_id"] for t in store.turns.values() if t["usage_told"]}
    for turn in store.turns.values():
        if turn["status"] not in SEALED:
            continue
        entries = [e for e in store.entries_of.get(turn["id"], []) if e["kind"] != "result"]
        for entry in entries:
            if entry["leaf"] is None or entry["leaf"] != _leaf(store, entry, told):
                yield f"turn {turn['id']}: {entry['kind']} {entry['ref']} is not what was sealed"
        parent = store.turns.get(turn["parent_id"] or "", {}).get("digest") or b""
        leaves = b"".join(e["leaf"] or b"" for e in entries)
        if turn["digest"] != digest(b"palaver turn 1", parent, turn["kind"].encode(), leaves, b""):
            yield f"turn {turn['id']}: its digest is wrong"


def _leaf(store: Snapshot, entry: Row, told: set[str]) -> bytes:
    if entry["kind"] == "part":
        part = store.parts[entry["ref"]]
        return digest(entry["salt"], part["type"].encode(), part["data_json"].encode())
    message = store.messages[entry["ref"]]
    given = re.sub(r',?"hidden_at":\d+}$', "}", message["metadata_json"])
    if message["id"] in told:
        given = re.sub(r',?"usage":{[^{}]*}}$', "}", given)
    return digest(entry["salt"], message["role"].encode(), given.encode())


def reflog_lines_are_chained(store: Snapshot) -> Iterator[str]:
    for session_id, lines in store.lines_of.items():
        link = b""
        for line in lines:
            fields = ("session_id", "seq", "kind", "turn_id", "revision", "at", "ref_seq", "reason")
            link = digest(link, *(b"" if line[f] is None else str(line[f]).encode() for f in fields))
            if line["link"] != link:
                yield f"session {session_id}: line {line['seq']} is not chained to the one before"
                break


RULES = (
    turns_are_open_or_sealed,
    turns_count_from_their_parents,
    entries_point_at_rows,
    sealed_turns_list_their_parts,
    every_message_is_listed,
    sealed_turns_have_no_open_tools,
    rows_are_well_formed,
    times_increase,
    hidden_is_what_nobody_sees,
    usage_adds_up,
    heads_stand_where_the_reflog_says,
    events_are_numbered_once,
    digests_are_right,
    reflog_lines_are_chained,
)
