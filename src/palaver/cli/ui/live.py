"""Chunks of a running turn on a terminal, as they come: words flow, a tool call and its answer are blocks."""

from __future__ import annotations

from typing import Any

from palaver import Event, Session, StoredMessage, TurnInfo

from .blocks import THINKS, Block
from .facts import print_ending
from .flow import Flow
from .render import Renderer, is_streaming, parsed
from .screen import Screen

_KINDS = {"text-delta": "text", "reasoning-delta": "reasoning"}
_RESULTS = {
    "tool-output-available": "output-available",
    "tool-output-error": "output-error",
    "tool-output-denied": "output-denied",
    "error": "output-error",
}
_LATEST = 20  # turns among which one is looked for that was sealed just now
_PARTS = ("file", "source-url", "source-document")  # chunks that are a part as they are; and so is every data-…


class Live:
    """Prints events. Knows which turn wrote last, and of what the line that is not over is a part."""

    def __init__(self, screen: Screen, session: Session) -> None:
        self._screen = screen
        self._session = session
        self._renderer = Renderer(screen)
        self._flow = Flow(screen)
        self._part = ""  # text or reasoning, whose next words may follow
        self._talking = False
        self._writer: int | None = None
        self._is_first = True  # nothing was shown yet

    def message(self, message: StoredMessage) -> None:
        """A message, an empty line after the one before it."""
        self._stand_apart()
        self._renderer.message(message)

    def ended(self, turn: TurnInfo) -> None:
        """How a turn ended, below its messages, if not well."""
        self._end_line()
        print_ending(self._screen, turn)

    def unfinished(self, message: StoredMessage) -> None:
        """A message of which more is to come: its last words, if they are not whole, are left open."""
        self._stand_apart()
        open_part = parsed(message.parts[-1]) if is_streaming(message) else None
        whole = message.parts[:-1] if open_part else message.parts
        self._renderer.heading(message)
        self._renderer.blocks([block for text in whole for block in self._renderer.reader.part(parsed(text))])
        self._talking = True
        if open_part:
            self._words(open_part["text"], open_part["type"])

    def event(self, event: Event) -> None:
        if event.kind == "chunk":
            self._chunk(event)
        elif event.kind == "begin" and event.turn is not None:
            self._begin(event)
        elif event.kind == "resolve":
            self._answer(event.data)
        elif event.kind == "wait":
            self._note("waiting for an answer")
        elif event.kind in ("stray", "recover", "stop") or (event.kind == "seal" and event.data.get("reason")):
            self._note(f"{event.kind} {event.data.get('reason') or event.data.get('status') or ''}")
        elif event.kind in ("rewind", "undo", "redo", "delete", "adopt", "move"):
            self._note(f"{event.kind}: the head moved; `palaver show` reads it from the start")
        elif event.kind == "seal":
            self._seal(str(event.data.get("turn")))

    def died(self) -> None:
        """Nobody will end the turn that was being written; not yet."""
        self._note("its writer died; what it wrote is kept, and whoever next writes here seals it")

    def _begin(self, event: Event) -> None:
        self._end_line()
        self._talking, self._writer = False, event.turn
        for message in self._session.messages_of(str(event.data["turn"])):
            if message.role != "assistant":
                self.message(message)

    def _seal(self, turn_id: str) -> None:
        """It is mostly the last one; a fast writer may have begun another since."""
        self._end_line()
        found = [turn for turn in self._session.path(limit=_LATEST) if turn.id == turn_id]
        for turn in found:
            self.ended(turn)

    def _chunk(self, event: Event) -> None:
        chunk: dict[str, Any] = event.data
        kind = str(chunk.get("type"))
        if event.turn != self._writer and self._writer is not None:
            self._end_line()
            self._talking = False
        self._writer = event.turn
        if kind in _KINDS:
            self._words(str(chunk.get("delta", "")), _KINDS[kind])
        elif kind in ("text-start", "reasoning-start", "text-end", "reasoning-end"):
            self._end_line()
        elif kind == "tool-approval-request":
            self._note("asks for approval")
        else:
            self._whole(kind, chunk)

    def _whole(self, kind: str, chunk: dict[str, Any]) -> None:
        """A chunk that says all there is to show."""
        reader, error = self._renderer.reader, str(chunk.get("errorText") or "")
        if kind in ("tool-input-available", "tool-input-error"):
            self._blocks([*reader.call(str(chunk.get("toolName")), chunk.get("input"))])
        if kind == "tool-input-error":
            self._blocks([*reader.result("output-error", None, error)])
        elif kind in _RESULTS and not chunk.get("preliminary"):
            self._blocks([*reader.result(_RESULTS[kind], chunk.get("output"), error)])
        elif kind in _PARTS or (kind.startswith("data-") and not chunk.get("transient")):
            self._blocks([*reader.part(chunk)])

    def _answer(self, data: dict[str, Any]) -> None:
        """What somebody else said to a request for approval, or gave as a tool's result."""
        reason = str(data.get("error") or data.get("reason") or "")
        if data.get("approved") is True:
            self._note(f"approved {reason}".rstrip())
            return
        denied = "output-denied" if data.get("approved") is False else "output-available"
        state = "output-error" if data.get("error") is not None else denied
        self._blocks([*self._renderer.reader.result(state, data.get("output"), reason)])

    def _words(self, text: str, part: str) -> None:
        """Deltas are printed as they are: half a line now, the rest with the next chunk."""
        self._speak()
        if part != self._part:
            thinks = part == "reasoning"
            self._flow.begin(*((f"  {THINKS} ", "    ", "dim") if thinks else ()))
            self._part = part
        self._flow.write(self._screen.sanitized(text, lines=True))

    def _speak(self) -> None:
        if not self._talking:
            self._talking = True
            self._stand_apart()
            self._screen.line(("assistant", "bold blue"))

    def _stand_apart(self) -> None:
        self._end_line()
        if not self._is_first:
            self._screen.say()
        self._is_first = False

    def _blocks(self, blocks: list[Block]) -> None:
        self._end_line()
        self._speak()
        self._renderer.blocks(blocks)

    def _note(self, text: str) -> None:
        self._end_line()
        self._is_first = False
        self._screen.line((f"--- {self._screen.sanitized(text)}", "dim"))

    def _end_line(self) -> None:
        self._flow.end()
        self._part = ""
