"""A store that keeps everything grows with the bytes that are streamed into it, not with their square."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import palaver

from ..tools.chunks import tool
from ..tools.sql import query
from .support import full, replays, text

N = 120
BYTES = """
SELECT (SELECT sum(octet_length(statement) + octet_length(data) + 20) FROM journal),
       (SELECT sum(octet_length(data)) FROM events)
"""
Stream = Callable[[palaver.Turn, int], None]


def one_long_text(turn: palaver.Turn, n: int) -> None:
    turn.write({"type": "text-start", "id": "t"})
    for _ in range(n):
        turn.write({"type": "text-delta", "id": "t", "delta": "word " * 20})


def many_short_texts(turn: palaver.Turn, n: int) -> None:
    for number in range(n // 4):
        turn.append(text("a few words", pieces=2, name=str(number)))


def many_long_texts(turn: palaver.Turn, n: int) -> None:
    for number in range(n // 12):
        for chunk in text("w" * 1000, pieces=10, name=str(number)):
            turn.write(chunk)


def one_long_tool_input(turn: palaver.Turn, n: int) -> None:
    turn.write({"type": "tool-input-start", "toolCallId": "c", "toolName": "run"})
    turn.write({"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": '{"a":"'})
    for _ in range(n):
        turn.write({"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": "w" * 50})


def many_tools(turn: palaver.Turn, n: int) -> None:
    for number in range(n // 6):
        for chunk in tool(f"c{number}", 500):
            turn.write(chunk)


def results_that_grow(turn: palaver.Turn, n: int) -> None:
    turn.write({"type": "tool-input-available", "toolCallId": "c", "toolName": "run", "input": {}})
    for _ in range(n):
        turn.write({"type": "tool-output-available", "toolCallId": "c", "output": "o" * 500, "preliminary": True})


def many_steps(turn: palaver.Turn, n: int) -> None:
    for _ in range(n // 5):
        turn.write({"type": "start-step"})
        turn.append(text("w" * 400, pieces=1))
        turn.write({"type": "finish-step"})


def one_metadata(turn: palaver.Turn, n: int) -> None:
    for number in range(n):
        turn.write({"type": "message-metadata", "messageMetadata": {f"key {number}": "v" * 50}})


def metadata_between_texts(turn: palaver.Turn, n: int) -> None:
    for number in range(n // 4):
        turn.write({"type": "message-metadata", "messageMetadata": {f"key {number}": "v" * 50}})
        turn.append(text("a few words", pieces=1, name=str(number)))


def metadata_in_a_text(turn: palaver.Turn, n: int) -> None:
    turn.write({"type": "text-start", "id": "t"})
    for number in range(n // 2):
        turn.write({"type": "message-metadata", "messageMetadata": {f"key {number}": "v" * 50}})
        turn.write({"type": "text-delta", "id": "t", "delta": "word " * 3})


def metadata_and_usage_in_steps(turn: palaver.Turn, n: int) -> None:
    for number in range(n // 4):
        turn.write({"type": "start-step"})
        turn.write({"type": "message-metadata", "messageMetadata": {f"key {number}": "v" * 50}})
        turn.write({"type": "finish-step"})
        turn.usage(input=1)


STREAMS = [
    one_long_text,
    many_short_texts,
    many_long_texts,
    one_long_tool_input,
    many_tools,
    results_that_grow,
    many_steps,
    one_metadata,
    metadata_between_texts,
    metadata_in_a_text,
    metadata_and_usage_in_steps,
]


def grown(folder: Path, stream: Stream, n: int, **options: float) -> tuple[int, int]:
    """Bytes in the journal and in the events after one turn of so many chunks."""
    path = str(folder / f"{n}-{len(list(folder.iterdir()))}.db")
    with full(path, **options) as store:
        with store.sessions.create("coder").turn("go") as turn:
            stream(turn, n)
        assert replays(store) == []
    return query(path, BYTES)[0]  # type: ignore[return-value]


@pytest.mark.parametrize("save_buffer_ms", [0, 1e9])
@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.__name__)
def test_promise_148_twice_the_chunks_are_at_most_twice_the_bytes(
    stream: Stream, save_buffer_ms: float, tmp_path: Path
) -> None:
    once = grown(tmp_path, stream, N, save_buffer_ms=save_buffer_ms)
    twice = grown(tmp_path, stream, 2 * N, save_buffer_ms=save_buffer_ms)
    print(f"{stream.__name__}: journal and events {once}, then {twice}")
    assert sum(twice) <= 2.2 * sum(once)
    assert twice[0] <= 2.2 * once[0]


@pytest.mark.long
@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.__name__)
def test_promise_148_also_when_it_is_much(stream: Stream, tmp_path: Path) -> None:
    once, twice = (sum(grown(tmp_path, stream, n, save_buffer_ms=0)) for n in (2_000, 4_000))
    assert twice <= 2.2 * once


def test_promise_148_a_turn_that_is_left_and_taken_up_again_grows_no_faster(tmp_path: Path) -> None:
    def left(rounds: int) -> int:
        path = str(tmp_path / f"{rounds}.db")
        with full(path) as store:
            session = store.sessions.create("coder")
            turn = session.turn("go")
            for number in range(rounds):
                turn.append(tool(f"c{number}", 500, answered=False))
                turn.resolve(f"c{number}", output="o" * 500)
                turn.wait()
                turn = session.resume(turn.id)
            turn.seal()
            assert replays(store) == []
        return sum(query(path, BYTES)[0])

    assert left(40) <= 2.2 * left(20)
