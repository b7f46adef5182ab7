"""A message as a person reads it: the role, the words, tool calls in a line each, reasoning dimmed, errors in red.

Parts of any shape are shown, also those that no version of ours has heard of: another program may have written them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from palaver import BadValue, StoredMessage, TurnInfo
from palaver.aisdk.parts import is_tool
from palaver.base import exact_json

from . import sanitize
from .format import moment, short, size
from .screen import WIDE, Screen

_ROLES = {"user": "bold green", "assistant": "bold blue", "system": "bold magenta"}
_ANSWERED = {"output-available", "output-error", "output-denied"}


class Renderer:
    """Prints messages on a screen; `detail` shows ids, times and whole values."""

    def __init__(self, screen: Screen, *, detail: bool = False) -> None:
        self.screen = screen
        self.detail = detail

    def message(self, message: StoredMessage, *, unfinished: bool = False) -> None:
        """`unfinished`: more words will follow on the last line."""
        self.heading(message)
        lines = [line for text in message.parts for line in self.part(_parsed(text))]
        self.screen.out.write("\n".join(lines) + ("" if unfinished or not lines else "\n"))
        if self.detail and message.metadata != "{}":
            self.screen.say(self.note("metadata", message.metadata))

    def heading(self, message: StoredMessage) -> None:
        role = self.screen.sanitized(message.role)
        parts: list[tuple[str, str] | str] = [(role, _ROLES.get(message.role, "bold"))]
        if self.detail:
            known_as = self.screen.sanitized(message.client_id or message.id)
            parts.append((f"  {known_as}  {moment(message.created_at)}", "dim"))
        self.screen.line(*parts)

    # ------------------------------------------------------------ parts

    def part(self, part: Any) -> Iterator[str]:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text" and isinstance(part.get("text"), str):
            yield self.words(part["text"])
        elif kind == "reasoning" and isinstance(part.get("text"), str):
            yield self.words(part["text"], "dim")
        elif is_tool(kind):
            yield from self.tool(part)
        elif kind == "file":
            yield self.note("file", _file(part))
        elif kind in ("source-url", "source-document"):
            yield self.note("source", " ".join(str(part[k]) for k in ("title", "url", "filename") if part.get(k)))
        elif kind != "step-start":
            yield self.note(str(kind or "part"), _dump(_without_type(part)))

    def words(self, text: str, style: str = "") -> str:
        return self.screen.paint(self.screen.sanitized(text, lines=True), style)

    def tool(self, part: dict[str, Any]) -> Iterator[str]:
        """A call in one line, its result in the next."""
        state = str(part.get("state"))
        name = part.get("toolName") or str(part.get("type"))[5:]
        given = _dump(part["input"]) if "input" in part else str(part.get("rawInput", ""))
        label = f"tool {name}" if state in _ANSWERED else f"tool {name} ({state})"
        yield self.note(label, given, style="yellow")
        if state == "output-available":
            yield self.note("->", _dump(part.get("output")), indent=4)
        elif state in ("output-error", "output-denied"):
            yield self.note("error" if state == "output-error" else "denied", _reason(part), style="red", indent=4)

    def note(self, label: str, value: str, *, style: str = "dim", indent: int = 2) -> str:
        """`label value`, in one line that fits; whole with `detail`."""
        screen = self.screen
        label, value = screen.sanitized(label), screen.sanitized(value, lines=self.detail)
        head = " " * indent + label
        if not self.detail:
            value = sanitize.shorten(value, max(8, (screen.width or WIDE) - sanitize.width(head) - 1), screen.dots)
        return f"{screen.paint(head, style)} {value}".rstrip()


def is_streaming(message: StoredMessage) -> bool:
    """Its last part is text or reasoning that is not done."""
    part = _parsed(message.parts[-1]) if message.parts else None
    return isinstance(part, dict) and part.get("type") in ("text", "reasoning") and part.get("state") == "streaming"


def first_words(message: StoredMessage) -> str:
    """What a turn is recognised by: its first text."""
    for text in message.parts:
        part = _parsed(text)
        if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
            return " ".join(part["text"][:400].split())
    return ""


def turn_line(screen: Screen, turn: TurnInfo) -> str:
    """The line above a turn's messages, with `--detail`."""
    digest = turn.digest.hex()[:12] if turn.digest else "open"
    tokens = f", {turn.usage.total:,} tokens" if turn.usage.total else ""
    text = f"--- turn {short(turn.id)} {turn.kind} {turn.status} {digest}{tokens}"
    return screen.paint(screen.fit(screen.sanitized(text)), "dim")


def _parsed(text: str) -> Any:
    try:
        return exact_json.parse(text)
    except BadValue:
        return {"type": "unreadable", "data": text}


def _dump(value: Any) -> str:
    return value if isinstance(value, str) else exact_json.dump(value)


def _without_type(part: Any) -> Any:
    return {key: value for key, value in part.items() if key != "type"} if isinstance(part, dict) else part


def _reason(part: dict[str, Any]) -> str:
    approval = part.get("approval")
    given = approval.get("reason") if isinstance(approval, dict) else None
    return str(part.get("errorText") or given or "")


def _file(part: dict[str, Any]) -> str:
    url = str(part.get("url", ""))
    where = size(len(url) * 3 // 4) if url.startswith("data:") else url
    return " ".join(str(piece) for piece in (part.get("filename"), part.get("mediaType"), where) if piece)
