"""What the parts of a message are to a reader: words that were said, a diff, or something with a label.

What was said stands at the left edge; what was thought or done is indented and named, so that it can be told apart
without colours. Everything is made safe here, before anything draws it. Parts of any shape are shown, also those that
no version of ours has heard of: another program may have written them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from palaver.aisdk.parts import COMPACTION, FINAL, is_tool
from palaver.base import exact_json

from . import edits
from .format import size
from .outline import is_nested, outline, shortened
from .screen import Screen

THINKS = "thinks:"
_LANGUAGES = {"command": "bash", "cmd": "bash", "script": "bash", "sql": "sql", "query": "sql"}
_STATES = {"approval-requested": "asks for approval", "approval-responded": "answered, not run yet"}
_PATHS = ("file_path", "path", "filePath", "filename", "file")


class Said(NamedTuple):
    """Words of a person or a model, as they were written."""

    text: str


class Labelled(NamedTuple):
    """`label text`. By itself (`inline` is None) the text stands beside its label if it is one line, else below."""

    label: str
    text: str
    style: str = "dim"
    indent: int = 2
    inline: bool | None = None
    language: str = ""  # or the name of a file, by which it is known
    words: str = ""  # the style of the text


class Diff(NamedTuple):
    text: str
    indent: int = 4


Block = Said | Labelled | Diff


class Reader:
    """Makes blocks of parts. With `detail` calls have their ids and nothing is cut; on a raw screen values are JSON."""

    def __init__(self, screen: Screen, *, detail: bool = False) -> None:
        self._screen = screen
        self._detail = detail
        self._whole = detail or screen.raw

    def part(self, part: Any) -> Iterator[Block]:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text" and isinstance(part.get("text"), str):
            yield Said(self._safe(part["text"].rstrip("\n")))
        elif kind == "reasoning" and isinstance(part.get("text"), str):
            yield from self.thought(part["text"])
        elif is_tool(kind):
            yield from self._tool(part)
        elif kind == "file":
            yield self.note("file", _file(part))
        elif kind in ("source-url", "source-document"):
            yield self.note("source", " ".join(str(part[k]) for k in ("title", "url", "filename") if part.get(k)))
        elif kind == COMPACTION and isinstance(part.get("data"), dict):
            yield from self._compaction(part["data"])
        elif kind != "step-start":
            yield self.note(str(kind or "part"), self.value(_without_type(part)))

    def thought(self, text: str) -> Iterator[Block]:
        if text.strip():
            yield Labelled(THINKS, self._safe(text).strip("\n"), inline=True, words="dim")

    def note(self, label: str, text: str) -> Labelled:
        return Labelled(self._label(label) + ":", self._safe(text))

    def value(self, value: Any) -> str:
        """Any JSON value as text, not yet safe."""
        return exact_json.dump(value) if self._screen.raw else outline(value)

    # ------------------------------------------------------------ tools

    def _tool(self, part: dict[str, Any]) -> Iterator[Block]:
        state = str(part.get("state"))
        given = part["input"] if "input" in part else part.get("rawInput", "")
        name = str(part.get("toolName") or str(part.get("type"))[5:])
        known_as = f"{name}  {part.get('toolCallId')}" if self._detail else name
        yield from self.call(known_as, given, state)
        yield from self._verdict(state, part.get("approval"))
        yield from self.result(state, part.get("output"), _reason(part))

    def _verdict(self, state: str, approval: Any) -> Iterator[Block]:
        """What a person said to the call, and why. Of a call that ended by a no, its end says it."""
        said = approval.get("approved") if isinstance(approval, dict) else None
        if type(said) is not bool or state == "output-denied":
            return
        word, reason = "approved" if said else "denied", self._short(str(approval.get("reason") or ""))
        yield Labelled(f"{word}:" if reason else word, reason, "green" if said else "red", 4, inline=True)

    def call(self, name: str, given: Any, state: str = "") -> Iterator[Block]:
        """A tool's name, and what it was given."""
        open_state = f" ({self._label(_STATES.get(state, state))})" if state and state not in FINAL else ""
        yield Labelled(f"tool {self._label(name)}{open_state}", "", "yellow")
        if self._screen.raw or not isinstance(given, dict):
            text = self._short(self.value(given))
            yield from [Labelled("", text, "", 4)] if text else []
            return
        edit = edits.find(given)
        for key, value in (edit.rest if edit.diffs else given).items():
            yield self._field(key, value, _language(key, given))
        for diff in edit.diffs:
            yield Diff(self._short(diff))

    def _field(self, key: str, value: Any, language: str) -> Labelled:
        text, below = self._short(outline(value)), False if is_nested(value) else None
        return Labelled(self._label(key) + ":", text, indent=4, inline=below, language=language)

    def result(self, state: str, output: Any, reason: str = "") -> Iterator[Block]:
        """What a tool answered, or why it did not."""
        if state == "output-error":
            yield Labelled("error:", self._short(reason), "red", 4, inline=True)
        elif state == "output-denied":
            yield Labelled("denied:", self._short(reason), "red", 4, inline=True)
        elif state == "output-available":
            text = self.value(output)
            is_patch = edits.is_patch(text)
            yield Labelled("->", "" if is_patch else self._short(text), "dim", 4, inline=True)
            yield from [Diff(self._short(text), 6)] if is_patch else []

    def _compaction(self, data: dict[str, Any]) -> Iterator[Block]:
        """A summary, and what it stands for."""
        rest = {key: value for key, value in data.items() if key != "summary"}
        turns = data.get("turns_summarized")
        stands = f" of {turns:,} turn{'' if turns == 1 else 's'}" if isinstance(turns, int) else ""
        yield Labelled(f"summary{stands}:", "", "magenta")
        yield Said(self._safe(str(data.get("summary") or "")))
        if self._whole:
            yield self.note("compaction", self.value(rest))

    # ------------------------------------------------------------ safe text

    def _label(self, text: str) -> str:
        return self._screen.sanitized(text)

    def _safe(self, text: str) -> str:
        return self._screen.sanitized(text, lines=True)

    def _short(self, text: str) -> str:
        """Safe, and cut unless everything is wanted. The newline that ends a command's output shows nothing."""
        text = self._safe(text.rstrip("\n"))
        return text if self._whole else shortened(text, self._screen.dots)


def _language(key: str, given: dict[str, Any]) -> str:
    """In what a value is written, if it is code: known by its key, or by the file it goes to."""
    if key in _LANGUAGES:
        return _LANGUAGES[key]
    return next((given[name] for name in _PATHS if name != key and isinstance(given.get(name), str)), "")


def _without_type(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    rest = {key: value for key, value in part.items() if key != "type"}
    return rest["data"] if set(rest) == {"data"} else rest


def _reason(part: dict[str, Any]) -> str:
    approval = part.get("approval")
    given = approval.get("reason") if isinstance(approval, dict) else None
    return str(part.get("errorText") or given or "")


def _file(part: dict[str, Any]) -> str:
    url = str(part.get("url", ""))
    where = size(len(url) * 3 // 4) if url.startswith("data:") else url
    return " ".join(str(piece) for piece in (part.get("filename"), part.get("mediaType"), where) if piece)
