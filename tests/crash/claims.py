"""What was acknowledged must be there, and nothing that nobody sent. Standard library only."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from .history import COUNTS, FINAL, Call, History, TurnStory, brief, chunks, closed, parts_of
from .rules import SEALED, USAGE_COLUMNS, ask
from .snapshot import Row, Snapshot


def broken(store: Snapshot, history: History, *, settled: bool) -> list[str]:
    found = ask(nothing_was_made_up, store, history)
    if history.acknowledged("open") and not store.exists:
        found.append("the store was opened, and there is no schema")
    for story in history.turns().values():
        found += ask(story_is_told, store, story, settled)
    for claim in (sessions_are_there, commits_are_there, looks_still_read_the_same):
        found += ask(claim, store, history)
    return found


def nothing_was_made_up(store: Snapshot, history: History) -> Iterator[str]:
    """What the user said: each acknowledged text once, the ones in flight at most once, no others."""
    there = Counter(store.text(m["id"]) for m in store.messages.values() if m["role"] == "user")
    sure, possible = set(history.said(sure=True)), set(history.said(sure=False))
    for text in sorted(sure - set(there)):
        yield f"lost: the user said {text!r}"
    for text, count in there.items():
        if text not in possible or count > 1:
            yield f"the user's {text!r} is there {count} times and was {'sent' if text in possible else 'refused'}"


def sessions_are_there(store: Snapshot, history: History) -> Iterator[str]:
    for call in history.acknowledged("create", "fork", "spawn"):
        made = (call.ok or {}).get("made", call.facts["session"])
        relation = {"create": "root"}.get(call.verb, call.verb)
        if made not in store.sessions or store.heads[made]["relation"] != relation:
            yield f"lost: session {made} ({call.verb})"
        elif call.verb != "create" and store.heads[made]["origin_id"] != call.facts["session"]:
            yield f"session {made} does not know where it came from"


def commits_are_there(store: Snapshot, history: History) -> Iterator[str]:
    texts = {store.text(m["id"]) for m in store.messages.values() if m["role"] == "assistant"}
    for call in history.calls:
        if call.verb != "commit":
            continue
        if call.no is not None and call.facts["answered"] in texts:
            yield f"a refused commit left {call.facts['answered']!r}"
        if call.ok is not None:
            lines = [(line["revision"], line["turn_id"]) for line in store.lines_of.get(call.facts["session"], [])]
            if (call.ok["revision"], call.ok["turn"]) not in lines or call.facts["answered"] not in texts:
                yield f"lost: commit of {call.facts['said']!r}"


def looks_still_read_the_same(store: Snapshot, history: History) -> Iterator[str]:
    """Every head that a client ever saw is in the reflog, and its path still says what it said."""
    for call in history.acknowledged("look"):
        seen = call.ok or {}
        lines = [(line["revision"], line["turn_id"]) for line in store.lines_of.get(call.facts["session"], [])]
        if (seen["revision"], seen["turn"]) not in lines:
            yield f"lost: revision {seen['revision']} of session {call.facts['session']}"
        now = store.texts([m for turn in store.path(seen["turn"]) for m in store.listed(turn)])
        if now != seen["texts"]:
            yield f"revision {seen['revision']} read {seen['texts']}, and now {now}"


# ---------------------------------------------------------------- one turn


def story_is_told(store: Snapshot, story: TurnStory, settled: bool) -> Iterator[str]:
    turn = store.turns.get(story.id)
    if turn is None:
        yield f"lost: turn {story.id}"
        return
    if story.said is not None and f"user: {story.said}" not in store.texts(store.listed(turn)):
        yield f"turn {story.id} does not list what the user said"
    if not any(_fits(store, turn, story, ending, settled) for ending in story.endings()):
        yield _difference(store, turn, story)
    yield from _place_fits(store, turn, story)


def _fits(store: Snapshot, turn: Row, story: TurnStory, ending: list[Call], settled: bool) -> bool:
    return (
        turn["status"] in _statuses(story, ending, settled)
        and stored_parts(store, turn) == closed_if_sealed(parts_of(ending), turn["status"])
        and [turn[c] for c in USAGE_COLUMNS] == _usage(ending)
    )


def stored_parts(store: Snapshot, turn: Row) -> list[dict[str, Any]]:
    """Of a sealed turn its rows; of an open one what its events fold to, for those are never behind."""
    if turn["status"] in SEALED:
        rows = store.parts_of.get(turn["response_id"] or "", [])
        return [brief(json.loads(row["data_json"])) for row in rows]
    return parts_of(stored_calls(store, turn))


def stored_calls(store: Snapshot, turn: Row) -> list[Call]:
    calls = []
    for event in store.events_of_turn(turn, "chunk", "resolve"):
        data = json.loads(event["data"])
        if event["kind"] == "chunk":
            calls.append(Call("write", {"chunks": [data]}))
        else:
            calls.append(Call("resolve", {"call": data.pop("tool_call_id"), **data}))
    return calls


def closed_if_sealed(parts: list[dict[str, Any]], status: str) -> list[dict[str, Any]]:
    return closed(parts, status) if status in SEALED else parts


def _statuses(story: TurnStory, ending: list[Call], settled: bool) -> tuple[str, ...]:
    if story.was_refused():
        return ("completed",)  # a stray, sealed as it was asked
    status = "streaming"
    for at, call in enumerate(ending):
        if call.verb == "seal":
            return (call.facts["status"],)
        if call.verb == "wait" or (call.verb == "write" and _finishes_open(ending[: at + 1])):
            status = "waiting"
        elif call.verb == "resume":
            status = "streaming"
    if status == "waiting":
        return ("waiting", "completed")  # completed: the user moved on
    return ("aborted",) if settled else ("streaming", "aborted")


def _finishes_open(calls: list[Call]) -> bool:
    """A `finish` while a tool has no result makes the turn wait."""
    if not any(chunk["type"] == "finish" for chunk in chunks(calls[-1])):
        return False
    return any(part["kind"] == "tool" and part["state"] not in FINAL for part in parts_of(calls))


def _usage(ending: list[Call]) -> list[int]:
    told = [call.facts["usage"] for call in ending if call.verb == "usage"]
    return [sum(usage.get(name, 0) for usage in told) for name in COUNTS]


def _place_fits(store: Snapshot, turn: Row, story: TurnStory) -> Iterator[str]:
    """Who was told that a turn landed finds it in the reflog; who was told that it lost finds a stray."""
    landed = [line["kind"] for line in store.lines_of.get(story.session, []) if line["turn_id"] == story.id]
    sealed = any(call.verb == "seal" and call.ok is not None for call in story.calls)
    if sealed and "seal" not in landed:
        yield f"lost: the seal of turn {story.id}"
    if story.was_refused() and (landed or story.id not in strays(store, story.session)):
        yield f"turn {story.id} lost its race and is not a stray"
    for call in story.calls:
        late = call.no == "TurnSealed" and "output" in call.facts
        if late and (call.kept not in store.turns or call.kept not in strays(store, story.session)):
            yield f"lost: the late result of turn {story.id}"


def strays(store: Snapshot, session_id: str) -> list[str]:
    found = [e for e in store.events_of.get(session_id, []) if e["kind"] == "stray"]
    return [json.loads(event["data"])["turn"] for event in found]


def _difference(store: Snapshot, turn: Row, story: TurnStory) -> str:
    shown = parts_of([Call("write", {"chunks": story.shown()})])
    there = stored_parts(store, turn)
    lost = len(json.dumps(shown)) > len(json.dumps(there))
    usage = [turn[c] for c in USAGE_COLUMNS]
    last = [call.verb + (" in flight" if call.in_flight else "") for call in story.calls[-3:]]
    return (
        f"{'lost: ' if lost else ''}turn {story.id} ({turn['status']}, usage {usage}, after {last}) holds "
        f"{json.dumps(there)[-400:]}, the client saw {json.dumps(shown)[-400:]}"
    )
