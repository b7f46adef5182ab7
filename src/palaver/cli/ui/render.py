"""A message on a screen: who speaks, then its blocks. A terminal with colours gets Markdown and code drawn by `rich`;
a pipe, and a terminal without colours, gets plain text, wrapped at words where there is a width.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from palaver import BadValue, StoredMessage
from palaver.base import exact_json

from . import sanitize
from .blocks import Block, Diff, Labelled, Reader, Said
from .format import moment, short
from .screen import Screen
from .wrap import wrap

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_ROLES = {"user": "bold green", "assistant": "bold blue", "system": "bold magenta"}


class Renderer:
    """Prints messages on a screen; `detail` shows ids, times and whole values."""

    def __init__(self, screen: Screen, *, detail: bool = False) -> None:
        self.screen = screen
        self.detail = detail
        self.reader = Reader(screen, detail=detail)

    def message(self, message: StoredMessage, told: Mapping[str, Any] = _NOTHING, *, pointed: bool = False) -> None:
        """`told`: what of its metadata the reader knows already, if it is the same. `pointed`: it was asked for."""
        self.heading(message, pointed=pointed)
        blocks = [block for text in message.parts for block in self.reader.part(parsed(text))]
        metadata = parsed(message.metadata) if self.detail else None
        if isinstance(metadata, dict):
            metadata = {key: value for key, value in metadata.items() if key not in told or told[key] != value}
        if metadata:
            blocks.append(self.reader.note("metadata", self.reader.value(metadata)))
        self.blocks(blocks, drawn=message.role != "user")

    def heading(self, message: StoredMessage, *, pointed: bool = False) -> None:
        known_as = self.screen.sanitized(message.client_id or message.id)
        more = f"  {known_as}  {moment(message.created_at)}" if self.detail else ""
        self.role(message.role, more, f"  <-- {self.screen.sanitized(short(message.id))}" if pointed else "")

    def role(self, role: str, more: str = "", pointer: str = "") -> None:
        role_style = _ROLES.get(role, "bold")
        self.screen.whole_line((self.screen.sanitized(role), role_style), (more, "dim"), (pointer, "bold yellow"))

    def blocks(self, blocks: list[Block], *, drawn: bool = True) -> None:
        """`drawn`: what is said is Markdown. What people type is not: a line is a line, and `#` no heading."""
        before: Block | None = None
        for block in blocks:
            if _stand_apart(before, block):
                self.screen.say()
            self.screen.say(self._text(block, drawn and self.screen.rich))
            before = block

    def _text(self, block: Block, drawn: bool) -> str:
        if isinstance(block, Said):
            return self._said(block.text, drawn)
        if isinstance(block, Diff):
            return self._diff(block)
        return self._labelled(block)

    def _said(self, text: str, drawn: bool) -> str:
        if drawn:
            from .rich_markdown import markdown

            return markdown(self.screen, text)
        return "\n".join(wrap(text, self.screen.width))

    def _diff(self, diff: Diff) -> str:
        if self.screen.rich:
            from .rich_text import code

            return code(self.screen, diff.text, "diff", diff.indent)
        margin = " " * diff.indent
        return "\n".join(wrap(diff.text, self.screen.width, first=margin, rest=margin))

    def _labelled(self, block: Labelled) -> str:
        columns, margin = self.screen.width, " " * block.indent
        label = margin + block.label
        beside = block.inline if block.inline is not None else "\n" not in block.text
        if beside and block.text and not (columns and sanitize.width(label) > columns // 2):
            return self._beside(block, label)
        labels = wrap(block.label, columns, first=margin, rest=margin + "  ")
        below = [self._below(block)] if block.text else []
        return "\n".join([*(self.screen.paint(line, block.style) for line in labels), *below])

    def _beside(self, block: Labelled, label: str) -> str:
        """The label and the first words in one line."""
        first = f"{label} " if block.label else label
        rest = " " * (block.indent + 2 if block.label.endswith(":") else len(first))
        begin, *more = wrap(block.text, self.screen.width, first=first, rest=rest)
        words = [begin[len(label) :], *more]
        return self.screen.paint(label, block.style) + "\n".join(self.screen.paint(w, block.words) for w in words)

    def _below(self, block: Labelled) -> str:
        if self.screen.rich and block.language:
            from .rich_text import code

            return code(self.screen, block.text, block.language, block.indent + 2)
        margin = " " * (block.indent + 2)
        return "\n".join(wrap(block.text, self.screen.width, first=margin, rest=margin))


def _stand_apart(before: Block | None, block: Block) -> bool:
    """Whether an empty line is between them: before words that follow something long, and after a table."""
    if isinstance(before, Said):
        *_, last = before.text.rstrip().split("\n")
        return not isinstance(block, Said) and last.startswith("|")
    return isinstance(block, Said) and before is not None and bool(before.text)


def is_streaming(message: StoredMessage) -> bool:
    """Its last part is text or reasoning that is not done. Another program's may have no words at all."""
    part = parsed(message.parts[-1]) if message.parts else None
    if not isinstance(part, dict) or not isinstance(part.get("text"), str):
        return False
    return part.get("type") in ("text", "reasoning") and part.get("state") == "streaming"


def parsed(text: str) -> Any:
    try:
        return exact_json.parse(text)
    except BadValue:
        return {"type": "unreadable", "data": text}
