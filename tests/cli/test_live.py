"""What `tail` shows of a running turn, event by event: nothing that `show` would show is left out."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver import Event
from palaver.cli.ui.live import Live
from palaver.cli.ui.screen import Screen


def shown(tmp_path: Path, *events: tuple[str, dict[str, Any]]) -> str:
    paper = io.StringIO()
    with palaver.open(tmp_path / "talks.db") as store:
        live = Live(Screen(paper), store.sessions.create())
        for number, (kind, data) in enumerate(events):
            live.event(Event(number, kind, 1, data, 0))
    return paper.getvalue()


CHUNKS = [
    ({"type": "tool-output-denied", "toolCallId": "c"}, "    denied:"),
    ({"type": "file", "url": "http://x/y.png", "mediaType": "image/png"}, "  file: image/png http://x/y.png"),
    ({"type": "source-url", "sourceId": "s", "url": "http://x", "title": "X"}, "  source: X http://x"),
    ({"type": "data-weather", "data": "rain"}, "  data-weather: rain"),
    (
        {"type": "tool-input-error", "toolCallId": "c", "toolName": "bash", "input": "{", "errorText": "no JSON"},
        "  tool bash\n    {\n    error: no JSON",
    ),
]


@pytest.mark.parametrize(("chunk", "lines"), CHUNKS, ids=[str(chunk["type"]) for chunk, _ in CHUNKS])
def test_every_finished_part_is_shown(tmp_path: Path, chunk: dict[str, Any], lines: str) -> None:
    assert shown(tmp_path, ("chunk", chunk)) == f"assistant\n{lines}\n"


def test_what_is_kept_for_no_reader_is_not_shown(tmp_path: Path) -> None:
    assert shown(tmp_path, ("chunk", {"type": "data-progress", "data": 1, "transient": True})) == ""


ANSWERS = [
    ({"tool_call_id": "c", "approved": True, "reason": "go on"}, "--- approved go on"),
    ({"tool_call_id": "c", "approved": False, "reason": "too risky"}, "assistant\n    denied: too risky"),
    ({"tool_call_id": "c", "output": "42"}, "assistant\n    -> 42"),
    ({"tool_call_id": "c", "error": "offline"}, "assistant\n    error: offline"),
]


@pytest.mark.parametrize(("answer", "lines"), ANSWERS)
def test_what_somebody_answers_is_shown(tmp_path: Path, answer: dict[str, Any], lines: str) -> None:
    assert shown(tmp_path, ("resolve", answer)) == f"{lines}\n"


def test_a_part_of_another_program_that_streams_no_words_is_shown_as_it_is(tmp_path: Path) -> None:
    paper = io.StringIO()
    with palaver.open(tmp_path / "talks.db") as store:
        session = store.sessions.create()
        session.commit("Go.")
        message = session.snapshot()[0][-1]
        message.parts = ['{"type":"text","state":"streaming","words":"other"}']
        Live(Screen(paper), session).unfinished(message)
    assert "other" in paper.getvalue()
