"""The chunk → upsert table (row 51): what every chunk does to the part rows, in order, out of order, repeated."""

from __future__ import annotations

import json
from typing import Any

import pytest

import palaver

from ..tools.sql import query

Chunk = dict[str, Any]
CALL = {"toolCallId": "c", "toolName": "run"}
INPUT = {"type": "tool-input-available", **CALL, "input": {"a": 1}}
PART = {"type": "tool-run", "toolCallId": "c"}
FILE = {"type": "file", "mediaType": "text/plain", "url": "https://a.example/b"}
URL = {"type": "source-url", "sourceId": "s", "url": "https://a.example", "title": "A"}
DOCUMENT = {"type": "source-document", "sourceId": "s", "mediaType": "text/plain", "title": "D", "filename": "d.txt"}
NOTE = {"type": "data-note", "id": "n", "data": {"n": 1}}


def text(kind: str, *pieces: str) -> list[Chunk]:
    start = [{"type": f"{kind}-start", "id": "t"}]
    return start + [{"type": f"{kind}-delta", "id": "t", "delta": piece} for piece in pieces]


# name: (chunks, part rows they leave)
TABLE: dict[str, tuple[list[Chunk], list[Chunk]]] = {
    "text-start": (text("text"), [{"type": "text", "text": "", "state": "streaming"}]),
    "text-delta": (text("text", "a", "b", ""), [{"type": "text", "text": "ab", "state": "streaming"}]),
    "text-end": (
        [*text("text", "ab"), {"type": "text-end", "id": "t"}],
        [{"type": "text", "text": "ab", "state": "done"}],
    ),
    "reasoning-start": (text("reasoning"), [{"type": "reasoning", "id": "t", "text": "", "state": "streaming"}]),
    "reasoning-delta": (
        text("reasoning", "a", "b"),
        [{"type": "reasoning", "id": "t", "text": "ab", "state": "streaming"}],
    ),
    "reasoning-end": (
        [*text("reasoning", "ab"), {"type": "reasoning-end", "id": "t"}],
        [{"type": "reasoning", "id": "t", "text": "ab", "state": "done"}],
    ),
    "tool-input-start": ([{"type": "tool-input-start", **CALL}], [{**PART, "state": "input-streaming"}]),
    "tool-input-delta": (
        [
            {"type": "tool-input-start", **CALL},
            {"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": '{"a":1}'},
        ],
        [{**PART, "state": "input-streaming", "input": {"a": 1}, "rawInput": '{"a":1}'}],
    ),
    "tool-input-available": ([INPUT], [{**PART, "state": "input-available", "input": {"a": 1}}]),
    "tool-input-error": (
        [{"type": "tool-input-error", **CALL, "input": "{a", "errorText": "not JSON"}],
        [{**PART, "state": "output-error", "rawInput": "{a", "errorText": "not JSON"}],
    ),
    "tool-approval-request": (
        [INPUT, {"type": "tool-approval-request", "toolCallId": "c", "approvalId": "x"}],
        [{**PART, "state": "approval-requested", "input": {"a": 1}, "approval": {"id": "x"}}],
    ),
    "tool-output-available": (
        [INPUT, {"type": "tool-output-available", "toolCallId": "c", "output": [2]}],
        [{**PART, "state": "output-available", "input": {"a": 1}, "output": [2]}],
    ),
    "tool-output-error": (
        [INPUT, {"type": "tool-output-error", "toolCallId": "c", "errorText": "no"}],
        [{**PART, "state": "output-error", "input": {"a": 1}, "errorText": "no"}],
    ),
    "tool-output-denied": (
        [INPUT, {"type": "tool-output-denied", "toolCallId": "c"}],
        [{**PART, "state": "output-denied", "input": {"a": 1}}],
    ),
    "dynamic tools": (
        [{**INPUT, "dynamic": True}],
        [{"type": "dynamic-tool", **CALL, "state": "input-available", "input": {"a": 1}}],
    ),
    "file": ([FILE], [FILE]),
    "source-url": ([URL], [URL]),
    "source-document": ([DOCUMENT], [DOCUMENT]),
    "data-note": ([NOTE], [NOTE]),
    "transient data": ([{**NOTE, "transient": True}], []),
    "start-step": ([{"type": "start-step"}], [{"type": "step-start"}]),
    "start": ([{"type": "start", "messageId": "m"}], []),
    "message-metadata": ([{"type": "message-metadata", "messageMetadata": {"k": 1}}], []),
    "finish-step": ([{"type": "finish-step"}], []),
    "finish": ([{"type": "finish", "finishReason": "stop"}], []),
    "error": ([{"type": "error", "errorText": "no"}], []),
    "abort": ([{"type": "abort"}], []),
    "a kind of the future": ([{"type": "media-progress", "id": "x"}], []),
    # repeated
    "the same text id again": (
        [*text("text", "a"), *text("text", "b")],
        [{"type": "text", "text": "a", "state": "streaming"}, {"type": "text", "text": "b", "state": "streaming"}],
    ),
    "the same input again": ([INPUT, INPUT], [{**PART, "state": "input-available", "input": {"a": 1}}]),
    "another output": (
        [INPUT, *({"type": "tool-output-available", "toolCallId": "c", "output": n} for n in (1, 2))],
        [{**PART, "state": "output-available", "input": {"a": 1}, "output": 2}],
    ),
    "the same file again": ([FILE, FILE], [FILE, FILE]),
    "the same data id again": ([NOTE, FILE, {**NOTE, "data": {"n": 2}}], [{**NOTE, "data": {"n": 2}}, FILE]),
    "data without an id": ([{"type": "data-x", "data": 1}] * 2, [{"type": "data-x", "data": 1}] * 2),
    # out of order
    "an output before its input is complete": (
        [{"type": "tool-input-start", **CALL}, {"type": "tool-output-available", "toolCallId": "c", "output": 1}],
        [{**PART, "state": "output-available", "output": 1}],
    ),
    "a result in a later step": (
        [
            INPUT,
            {"type": "finish-step"},
            {"type": "start-step"},
            {"type": "tool-output-error", "toolCallId": "c", "errorText": "no"},
        ],
        [{**PART, "state": "output-error", "input": {"a": 1}, "errorText": "no"}, {"type": "step-start"}],
    ),
    "two texts at once": (
        [
            {"type": "text-start", "id": "1"},
            {"type": "text-start", "id": "2"},
            {"type": "text-delta", "id": "2", "delta": "b"},
            {"type": "text-delta", "id": "1", "delta": "a"},
        ],
        [{"type": "text", "text": "a", "state": "streaming"}, {"type": "text", "text": "b", "state": "streaming"}],
    ),
}
KINDS = [
    "start",
    "start-step",
    "finish-step",
    "finish",
    "abort",
    "error",
    "message-metadata",
    "text-start",
    "text-delta",
    "text-end",
    "reasoning-start",
    "reasoning-delta",
    "reasoning-end",
    "file",
    "source-url",
    "source-document",
    "data-note",
    "tool-input-start",
    "tool-input-delta",
    "tool-input-available",
    "tool-input-error",
    "tool-approval-request",
    "tool-output-available",
    "tool-output-error",
    "tool-output-denied",
]

REFUSED: list[Chunk] = [
    {"type": "text-delta", "id": "t", "delta": "a"},
    {"type": "text-end", "id": "t"},
    {"type": "reasoning-delta", "id": "t", "delta": "a"},
    {"type": "reasoning-end", "id": "t"},
    {"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": "{"},
    {"type": "tool-output-available", "toolCallId": "c", "output": 1},
    {"type": "tool-output-error", "toolCallId": "c", "errorText": "no"},
    {"type": "tool-output-denied", "toolCallId": "c"},
    {"type": "tool-approval-request", "toolCallId": "c", "approvalId": "x"},
    {"type": "text-start"},
    {"type": "text-delta", "id": "t", "delta": None},
    {"id": "t"},
]


def rows(path: str) -> list[tuple[Any, ...]]:
    """Part rows of the answer, with what is hoisted out of them."""
    found = query(
        path,
        'SELECT p."index", p.type, p.tool_call_id, p.tool_state, p.data_json FROM chat_parts p '
        "JOIN chat_messages m ON m.id = p.message_id WHERE m.role = 'assistant' ORDER BY p.\"index\"",
    )
    return [(*row[:4], json.loads(row[4])) for row in found]


def wanted(parts: list[Chunk]) -> list[tuple[Any, ...]]:
    tools = [part["type"] if part["type"] == "dynamic-tool" else part["type"][:5] for part in parts]
    hoisted = [
        (part["toolCallId"], part["state"]) if tool in ("tool-", "dynamic-tool") else (None, None)
        for part, tool in zip(parts, tools, strict=True)
    ]
    return [(n, part["type"], *hoisted[n], part) for n, part in enumerate(parts)]


def test_promise_051_the_table_has_every_kind_of_chunk() -> None:
    used = {chunk["type"] for chunks, _ in TABLE.values() for chunk in chunks}
    assert set(KINDS) <= used
    assert set(KINDS) <= set(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_promise_051_each_chunk_does_to_the_rows_what_the_table_says(path: str, name: str) -> None:
    chunks, parts = TABLE[name]
    with palaver.open(path, save_buffer_ms=0) as store:
        turn = store.sessions.create("a").turn("hello")
        for chunk in chunks:
            turn.write(chunk)
        assert rows(path) == wanted(parts)


@pytest.mark.parametrize("name", TABLE)
def test_promise_051_chunks_that_are_sent_again_are_not_kept_again(path: str, name: str) -> None:
    chunks, parts = TABLE[name]
    with palaver.open(path, save_buffer_ms=0) as store:
        turn = store.sessions.create("a").turn("hello")
        turn.append(chunks, at=0)
        kept = query(path, "SELECT * FROM events")
        if turn.status == "streaming":
            for at in range(len(chunks)):
                turn.append(chunks[at:], at=at)
        assert rows(path) == wanted(parts)
        assert query(path, "SELECT * FROM events") == kept


@pytest.mark.parametrize("chunk", REFUSED, ids=lambda chunk: str(chunk.get("type")))
def test_promise_051_a_chunk_that_comes_before_what_it_needs_is_refused_and_changes_nothing(
    store: palaver.Store, chunk: Chunk
) -> None:
    turn = store.sessions.create("a").turn("hello")
    turn.write(FILE)
    before = rows(store.path), query(store.path, "SELECT * FROM events")
    with pytest.raises(palaver.ChunkError):
        turn.write(chunk)
    with pytest.raises(palaver.ChunkError):
        turn.append([URL, chunk])
    assert (rows(store.path), query(store.path, "SELECT * FROM events")) == before
    turn.write(URL)
    assert rows(store.path) == wanted([FILE, URL])
