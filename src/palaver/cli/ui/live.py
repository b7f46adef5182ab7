"""Chunks of a running turn on a terminal, as they come: words flow, a tool call is a line, the end is a line."""

from __future__ import annotations

from typing import Any

from palaver import Event, Session
from palaver.base import exact_json

from .render import Renderer
from .screen import Screen

_STYLES = {"text-delta": "", "reasoning-delta": "dim"}
_RESULTS = {"tool-output-available": ("->", "output"), "tool-output-error": ("error", "errorText")}


class Live:
    """Prints events. Knows which turn wrote last, and whether the line is still open."""

    def __init__(self, screen: Screen, session: Session, *, unfinished: bool) -> None:
        self._screen = screen
        self._session = session
        self._renderer = Renderer(screen)
        self._mid_line = unfinished
        self._talking = unfinished
        self._writer: int | None = None

    def event(self, event: Event) -> None:
        if event.kind == "chunk":
            self._chunk(event)
        elif event.kind == "begin" and event.turn is not None:
            self._begin(event)
        elif event.kind == "wait":
            self._note("waiting for an answer")
        elif event.kind in ("stray", "recover") or (event.kind == "seal" and event.data.get("reason")):
            self._note(f"{event.kind} {event.data.get('reason') or event.data.get('status') or ''}")
        elif event.kind in ("rewind", "undo", "redo", "delete", "adopt", "move"):
            self._note(f"{event.kind}: the head moved; `palaver show` reads it from the start")
        elif event.kind == "seal":
            self._end_line()

    def died(self) -> None:
        """Nobody will end the turn that was being written; not yet."""
        self._note("its writer died; what it wrote is kept, and whoever next writes here seals it")

    def _begin(self, event: Event) -> None:
        self._end_line()
        self._talking, self._writer = False, event.turn
        for message in self._session.messages_of(str(event.data["turn"])):
            if message.role != "assistant":
                self._renderer.message(message)

    def _chunk(self, event: Event) -> None:
        chunk: dict[str, Any] = event.data
        kind = str(chunk.get("type"))
        if event.turn != self._writer and self._writer is not None:
            self._end_line()
            self._talking = False
        self._writer = event.turn
        if kind in _STYLES:
            self._words(str(chunk.get("delta", "")), _STYLES[kind])
        elif kind in ("text-start", "reasoning-start", "text-end", "reasoning-end"):
            self._end_line()
        elif kind == "tool-input-available":
            self._line(f"tool {chunk.get('toolName')}", chunk.get("input"), "yellow", 2)
        elif kind in _RESULTS and not chunk.get("preliminary"):
            label, key = _RESULTS[kind]
            self._line(label, chunk.get(key), "red" if label == "error" else "dim", 4)
        elif kind == "tool-approval-request":
            self._note("asks for approval")
        elif kind == "error":
            self._line("error", chunk.get("errorText"), "red", 2)

    def _words(self, text: str, style: str) -> None:
        """Deltas are printed as they are: half a line now, the rest with the next chunk."""
        self._speak()
        screen = self._screen
        screen.out.write(screen.paint(screen.sanitized(text, lines=True), style))
        if text:
            self._mid_line = not text.endswith("\n")

    def _speak(self) -> None:
        if not self._talking:
            self._talking = True
            self._screen.line(("assistant", "bold blue"))

    def _line(self, label: str, value: Any, style: str, indent: int) -> None:
        self._end_line()
        self._speak()
        text = value if isinstance(value, str) else exact_json.dump(value)
        self._screen.say(self._renderer.note(label, text, style=style, indent=indent))

    def _note(self, text: str) -> None:
        self._end_line()
        self._screen.line((f"--- {self._screen.sanitized(text)}", "dim"))

    def _end_line(self) -> None:
        if self._mid_line:
            self._screen.say()
            self._mid_line = False
