"""Scenarios written by hand: what a verb writes that nobody gives it as it is. Ids, times, numbers, states.

Each calls one verb and says at which homes what is new after it. What was before `stage.begins()` does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import pytest

import palaver
from palaver.base import clock

from . import homes
from .homes import Picture

Claims = dict[str, list[Any]]  # place → what was written there; a function says of a value whether it is that
Scenario = Callable[["Stage"], Claims]
SCENARIOS: dict[str, Scenario] = {}
SECOND = 1_000


class Stage:
    """A fresh store, what was in it when the verb was called, and a clock that stands still until then."""

    def __init__(self, store: palaver.Store, tables: list[str]) -> None:
        self.store = store
        self._tables = tables
        self.before: Picture = {}
        self._now = clock.now_ms()

    @contextmanager
    def clock(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(clock, "_now_ns", lambda: self._now * 1_000_000)
            yield

    def begins(self) -> None:
        self.before = self.look()
        self._now += SECOND

    def look(self) -> Picture:
        return homes.picture(self.store, self._tables)

    def just_now(self, value: Any) -> bool:
        """Whether it is a time after the verb was called; the times of a session's messages rise by themselves."""
        return type(value) is int and self._now <= value < self._now + SECOND

    def session(self, *said: str) -> palaver.Session:
        session = self.store.sessions.create("some agent")
        for text in said:
            session.commit(text)
        return session


def scenario(call: str) -> Callable[[Scenario], Scenario]:
    def keep(function: Scenario) -> Scenario:
        SCENARIOS[call] = function
        return function

    return keep


# ---------------------------------------------------------------- a store and its sessions


@scenario("palaver.open")
def opened(stage: Stage) -> Claims:
    return {"schema_migrations.version": [1, 2, 3, 4, 5]}


@scenario("sessions.create")
def created(stage: Stage) -> Claims:
    stage.begins()
    session = stage.store.sessions.create("some agent")
    return {
        "chat_sessions.id": [session.id],
        "chat_sessions.created_at": [stage.just_now],
        "chat_sessions.updated_at": [stage.just_now],
        "heads.session_id": [session.id],
        "heads.relation": ["root"],
        "reflog.session_id": [session.id],
        "reflog.kind": ["create"],
    }


@scenario("sessions.create(parent=)")
def spawned(stage: Stage) -> Claims:
    parent = stage.session("some question")
    (question,) = parent.messages()
    stage.begins()
    stage.store.sessions.create("some helper", parent=parent, tool_call_id="some call")
    return {
        "chat_sessions.parent_id": [parent.id],
        "chat_sessions.parent_message_id": [question["id"]],
        "heads.relation": ["spawn"],
        "heads.origin_id": [parent.id],
        "heads.origin_turn": [parent.path()[-1].id],
        "heads.origin_call": ["some call"],
    }


@scenario("sessions.create(relation=)")
def continued(stage: Stage) -> Claims:
    parent = stage.session("some question")
    sessions: Any = stage.store.sessions  # an argument that is on its way
    stage.begins()
    for relation in ("continue", "import"):
        sessions.create("some agent", parent=parent, relation=relation)
    return {"heads.relation": ["continue", "import"]}


@scenario("session.fork")
def forked(stage: Stage) -> Claims:
    session = stage.session("some question", "some more")
    first, _ = session.path()
    question, _ = session.messages()
    stage.begins()
    fork = session.fork(at=first.id)
    return {
        "chat_sessions.id": [fork.id],
        "chat_sessions.parent_id": [session.id],
        "chat_sessions.parent_message_id": [question["id"]],
        "heads.turn_id": [first.id],
        "heads.relation": ["fork"],
        "heads.origin_id": [session.id],
        "heads.origin_turn": [first.id],
        "reflog.kind": ["fork"],
        "reflog.turn_id": [first.id],
    }


@scenario("session.rewind")
def rewound(stage: Stage) -> Claims:
    session = stage.session("some question", "some more")
    stage.begins()
    session.rewind(session.path()[0].id)
    return {
        "chat_messages.metadata_json/hidden_at": [stage.just_now],
        "heads.turn_id": [session.path()[0].id],
        "heads.revision": [3],
        "reflog.kind": ["rewind"],
    }


@scenario("session.archive")
def archived(stage: Stage) -> Claims:
    session = stage.session()
    stage.begins()
    session.archive()
    return {"chat_sessions.archived_at": [stage.just_now]}


@scenario("session.end")
def ended(stage: Stage) -> Claims:
    session = stage.session()
    stage.begins()
    session.end()
    return {"heads.ended_at": [stage.just_now]}


@scenario("session.alias")
def named(stage: Stage) -> Claims:
    session = stage.session("some question")
    turn = session.path()[0].id
    stage.begins()
    session.alias("some name", turn=turn)
    return {
        "aliases.namespace": ["alias"],
        "aliases.name": ["some name"],
        "aliases.session_id": [session.id],
        "aliases.turn_id": [turn],
        "aliases.created_at": [stage.just_now],
    }


@scenario("session.permissions.add")
def permitted(stage: Stage) -> Claims:
    session = stage.session()
    stage.begins()
    session.permissions.add("some permission", "some pattern", "ask")
    (rule,) = session.permissions.list()
    return {
        "chat_sessions.permissions_json": [[rule]],
        "chat_sessions.permissions_json/*/source": ["session"],
        "chat_sessions.permissions_json/*/added_at": [stage.just_now],
    }


@scenario("session.prune")
def pruned(stage: Stage) -> Claims:
    session = stage.session()
    with session.turn("some question") as turn:
        turn.tool("name").output("some output")
    stage.begins()
    session.prune(keep=0)
    return {"pruned.session_id": [session.id], "pruned.at": [stage.just_now]}


@scenario("session.compact")
def compacted(stage: Stage) -> Claims:
    session = stage.session("some question", "some more")
    first, second = session.path()
    stage.begins()
    made = session.compact("some summary", keep_from=second.id)
    return {
        "turns.id": [made.id],
        "turns.kind": ["compaction"],
        "turns.parent_id": [second.id],
        "turn_entries.turn_id": [made.id, made.id],
        "chat_parts.type": ["data-compaction"],
        "chat_parts.data_json/data/summary": ["some summary"],
        "compactions.turn_id": [made.id],
        "compactions.compaction_type": ["summary"],
        "compactions.summarized_through_turn_id": [first.id],
        "compactions.first_kept_turn_id": [second.id],
        "compactions.turns_summarized": [1],
    }


# ---------------------------------------------------------------- turns


@scenario("session.turn")
def begun(stage: Stage) -> Claims:
    session = stage.session("some question")
    before = session.path()[-1]
    stage.begins()
    turn = session.turn([{"role": "system", "content": "some rule"}, "some more"])
    rule, question = (message["id"] for message in session.messages()[-2:])
    return {
        "turns.id": [turn.id],
        "turns.parent_id": [before.id],
        "turns.session_id": [session.id],
        "turns.base_revision": [1],
        "turns.kind": ["turn"],
        "turns.status": ["streaming"],
        "turns.started_at": [stage.just_now],
        "turns.depth": [2],
        "turn_entries.turn_id": [turn.id] * 4,
        "turn_entries.ref": [rule, question],
        "turn_entries.kind": ["message", "part", "message", "part"],
        "turn_entries.seq": [0, 1, 2, 3],
        "chat_messages.id": [rule, question],
        "chat_messages.session_id": [session.id, session.id],
        "chat_messages.role": ["system", "user"],
        "chat_messages.created_at": [stage.just_now],
        "chat_parts.message_id": [rule, question],
        "chat_parts.data_json/text": ["some rule", "some more"],
        "events.session_id": [session.id],
        "events.kind": ["begin"],
        "events.seq": [3],
    }


@scenario("session.turn(system_prompt=)")
def prompted(stage: Stage) -> Claims:
    session = stage.session()
    stage.begins()
    with session.turn("some question", system_prompt="some prompt") as turn:
        turn.text("some answer")
    digest = sha256(b"some prompt").hexdigest()
    return {
        "system_prompts.digest": [digest],
        "system_prompts.body": ["some prompt"],
        "turns.prompt_digest": [digest],
        "chat_messages.metadata_json/system_prompt_digest": [digest],
    }


@scenario("turn.write")
def streamed(stage: Stage) -> Claims:
    """Four calls, each left in another state, and all that is no call."""
    session = stage.session()
    turn = session.turn("some question")
    stage.begins()
    for chunk in _CHUNKS:
        turn.write(chunk)
    turn.flush()
    answer = turn.message_id
    texts = ["some thought", "some answer"]
    return {
        "turns.response_id": [answer],
        "turn_entries.turn_id": [turn.id],
        "turn_entries.kind": ["message", "result", "result"],
        "turn_entries.ref": [answer],
        "turn_entries.seq": [2],
        "chat_messages.id": [answer],
        "chat_messages.session_id": [session.id],
        "chat_messages.role": ["assistant"],
        "chat_messages.created_at": [stage.just_now],
        "chat_messages.updated_at": [stage.just_now],
        "chat_sessions.updated_at": [stage.just_now],
        "chat_parts.id": [lambda value: value.startswith("prt_")],
        "chat_parts.message_id": [answer],
        "chat_parts.session_id": [session.id],
        "chat_parts.index": list(range(11)),
        "chat_parts.type": [
            "step-start", "reasoning", "text", "tool-name", "tool-name", "tool-name", "dynamic-tool", "file",
            "source-url", "source-document", "data-name",
        ],
        "chat_parts.created_at": [stage.just_now],
        "chat_parts.updated_at": [stage.just_now],
        "chat_parts.tool_call_id": ["c1", "c2", "c3", "c4"],
        "chat_parts.tool_state": ["input-streaming", "input-available", "output-available", "output-error"],
        "chat_parts.data_json/type": ["reasoning"],
        "chat_parts.data_json/text": texts,
        "chat_parts.data_json/toolCallId": ["c1", "c2", "c3", "c4"],
        "chat_parts.data_json/state": ["input-streaming", "input-available", "output-available", "output-error"],
        "chat_parts.data_json/input": ["input 1", "input 2", "input 3", "input 4"],
        "chat_parts.data_json/title": ["some title"],
        "chat_parts.data_json/toolMetadata": [{"some": "metadata"}],
        "chat_parts.data_json/output": ["some output"],
        "chat_parts.data_json/errorText": ["some error"],
        "chat_parts.data_json/url": ["data:,some", "https://example.org/some"],
        "chat_parts.data_json/mediaType": ["image/some", "text/some"],
        "chat_parts.data_json/data": ["some data"],
        "events.session_id": [session.id] * len(_CHUNKS),
        "events.kind": ["chunk"] * len(_CHUNKS),
        "events.seq": list(range(3, 3 + len(_CHUNKS))),
    }  # fmt: skip


def _call(number: int, kind: str = "tool-input-available", **more: Any) -> dict[str, Any]:
    return {"type": kind, "toolCallId": f"c{number}", "toolName": "name", "input": f"input {number}", **more}


_CHUNKS = [
    {"type": "start"},
    {"type": "start-step"},
    {"type": "reasoning-start", "id": "r"},
    {"type": "reasoning-delta", "id": "r", "delta": "some thought"},
    {"type": "reasoning-end", "id": "r"},
    {"type": "text-start", "id": "t"},
    {"type": "text-delta", "id": "t", "delta": "some answer"},
    {"type": "text-end", "id": "t"},
    {"type": "tool-input-start", "toolCallId": "c1", "toolName": "name"},
    {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": '"input 1'},
    _call(2, title="some title", toolMetadata={"some": "metadata"}),
    _call(3),
    {"type": "tool-output-available", "toolCallId": "c3", "output": "some output"},
    _call(4, dynamic=True),
    {"type": "tool-output-error", "toolCallId": "c4", "errorText": "some error"},
    {"type": "file", "url": "data:,some", "mediaType": "image/some"},
    {"type": "source-url", "sourceId": "s1", "url": "https://example.org/some"},
    {"type": "source-document", "sourceId": "s2", "mediaType": "text/some", "title": "some document"},
    {"type": "data-name", "data": "some data"},
    {"type": "finish-step"},
]


@scenario("turn.seal")
def sealed(stage: Stage) -> Claims:
    session = stage.session("some question")
    turn = session.turn("some more")
    turn.tool("name").output("some output")
    turn.usage(input=7)
    stage.begins()
    turn.seal()
    return {
        "turns.status": ["completed"],
        "turns.sealed_at": [stage.just_now],
        "turns.thread_calls": [1],
        "turns.thread_results": [1],
        "turns.thread_messages": [3],
        "turn_entries.turn_id": [turn.id, turn.id],
        "turn_entries.kind": ["part", "part"],
        "turn_entries.seq": [4, 5],
        "heads.turn_id": [turn.id],
        "heads.revision": [2],
        "reflog.session_id": [session.id],
        "reflog.turn_id": [turn.id],
        "reflog.kind": ["seal"],
        "reflog.seq": [lambda value: value > 3],
        "reflog.at": [stage.just_now],
    }


@scenario("turn.abort")
def aborted(stage: Stage) -> Claims:
    turn = stage.session().turn("some question")
    stage.begins()
    turn.abort()
    return {"turns.status": ["aborted"], "reflog.kind": ["seal"]}


@scenario("turn.resolve")
def resolved(stage: Stage) -> Claims:
    turn = stage.session().turn("some question")
    turn.tool("name", id="c1")
    turn.tool("name", id="c2")
    stage.begins()
    turn.resolve("c1", output="some output")
    turn.resolve("c2", error="some error")
    return {
        "chat_parts.tool_state": ["output-available", "output-error"],
        "chat_parts.data_json/output": ["some output"],
        "chat_parts.data_json/errorText": ["some error"],
        "chat_parts.updated_at": [stage.just_now],
        "turn_entries.kind": ["result", "result"],
    }


@scenario("turn.usage")
def told(stage: Stage) -> Claims:
    session = stage.session()
    turn = session.turn("some question")
    counts = {"input": 11, "output": 12, "reasoning": 13, "cache_read": 14, "cache_write": 15}
    stage.begins()
    turn.usage(counts)
    return {
        "chat_messages.metadata_json/usage": [counts],
        "turns.input_tokens": [11],
        "usage.session_id": [session.id],
        "usage.turn_id": [turn.id],
        "usage.message_id": [turn.message_id],
        "usage.input": [11],
        "usage.at": [stage.just_now],
    }


@scenario("session.enqueue")
def queued(stage: Stage) -> Claims:
    session = stage.session()
    stage.begins()
    waiting = session.enqueue("some question")
    return {
        "chat_messages.metadata_json/queued_at": [stage.just_now],
        "turns.id": [waiting.turn_id],
        "turns.status": ["pending"],
        "queue.id": [waiting.id],
    }


@scenario("session.commit")
def committed(stage: Stage) -> Claims:
    session = stage.session("some question")
    before = session.path()[-1]
    stage.begins()
    turn = session.commit(["some more", {"role": "assistant", "parts": [_PART]}])
    question, answer = (message["id"] for message in session.messages()[-2:])
    return {
        "turns.id": [turn.id],
        "turns.parent_id": [before.id],
        "turns.session_id": [session.id],
        "turns.base_revision": [1],
        "turns.kind": ["turn"],
        "turns.status": ["completed"],
        "turns.sealed_at": [stage.just_now],
        "turns.depth": [2],
        "turns.thread_calls": [1],
        "turns.response_id": [answer],
        "turn_entries.turn_id": [turn.id] * 4,
        "turn_entries.ref": [question, answer],
        "turn_entries.kind": ["message", "part", "message", "part"],
        "turn_entries.seq": [0, 1, 2, 3],
        "chat_messages.id": [question, answer],
        "chat_messages.session_id": [session.id, session.id],
        "chat_messages.created_at": [stage.just_now, stage.just_now],
        "chat_messages.updated_at": [stage.just_now, stage.just_now],
        "chat_parts.id": [lambda value: value.startswith("prt_")],
        "chat_parts.message_id": [question, answer],
        "chat_parts.session_id": [session.id, session.id],
        "chat_parts.index": [0, 0],
        "chat_parts.tool_state": ["output-available"],
        "chat_sessions.updated_at": [stage.just_now],
        "heads.turn_id": [turn.id],
        "heads.revision": [2],
        "heads.last_message_at": [stage.just_now],
        "reflog.session_id": [session.id],
        "reflog.turn_id": [turn.id],
        "reflog.kind": ["seal"],
        "reflog.seq": [3],
        "reflog.at": [stage.just_now],
    }


_PART = {"type": "tool-name", "toolCallId": "c1", "state": "output-available", "input": {}, "output": "some output"}
