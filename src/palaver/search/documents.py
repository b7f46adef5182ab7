"""What is searched of a message: its own text, and each result of a tool by itself.

A message's own text is what was said and thought in it, the names and inputs of its tool calls, the names of its files,
the sources it gives, the summary of a compaction, and the session's title where it is the first one. What a tool gave
back is a document of its own, with the role `tool`.

Values are made text as a person would read them: `path: src/main.py`, a line for each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..aisdk.parts import COMPACTION, FINAL, TOOL_ROW, is_tool

TOOL = "tool"  # the role of a result
_OF_MEDIA = ("mimeType", "mediaType", "media_type")  # beside these, `data` is no text
_PATHS = ("path", "file")  # of a key whose value names a file
_PATH = re.compile(r"[^\s'\"`()<>|;,=]*[/\\][^\s'\"`()<>|;,]+|[\w-]+\.[A-Za-z]\w{0,7}(?!\w)")
_LONGEST_PATH = 1_024
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_CONTROLS = {"n": "\n", "r": "\n", "t": "\t", "b": " ", "f": " "}
LONGEST = 2_000_000  # characters of a document that are searched
_SEARCHED = 4_096  # characters of an input that are looked through for paths

Part = Mapping[str, Any]


class Document(NamedTuple):
    """`part_id` of a result, and its `place` in the message; None: the message's own text, which begins with so many
    characters of a title."""

    part_id: str | None
    role: str
    text: str
    place: int = -1
    title: int = 0

    def without_title(self) -> Document:
        return self._replace(text=self.text[self.title :].removeprefix("\n"), title=0)

    @property
    def key(self) -> str:
        """Which of its message it is; one that streams may have no id yet."""
        return self.part_id or ("" if self.place < 0 else f"#{self.place:08}")


def documents(role: str, parts: Sequence[tuple[str | None, Any]], title: str | None = None) -> Iterator[Document]:
    """Of a message, by its parts and their ids. One without anything to find has none."""
    read = [(place, part_id, part) for place, (part_id, part) in enumerate(parts) if isinstance(part, Mapping)]
    own = "\n".join(filter(None, [title or "", *(own_text(part) for _, _, part in read)]))
    if own.strip():
        own_role = next((named for _, _, part in read if (named := _role_of_row(part))), role)
        yield Document(None, own_role, own[:LONGEST], title=len(title) if title else 0)
    for place, part_id, part in read:
        text = result(part)
        if text and text.strip():
            yield Document(part_id, TOOL, text[:LONGEST], place)


def _role_of_row(part: Part) -> str | None:
    """Of a row of a dialect that is no message: what it calls itself."""
    data = part.get("data") if part.get("type") == TOOL_ROW else None
    role = data.get("role") if isinstance(data, Mapping) else None
    return role if isinstance(role, str) else None


def own_text(part: Part) -> str:
    """What a part adds to the text of its message."""
    kind = part.get("type")
    if kind in ("text", "reasoning"):
        return _text(part.get("text"))
    if is_tool(kind):
        return "\n".join(filter(None, [tool_name(part), spoken(part.get("input"))]))
    if kind == "file":
        return "\n".join(filter(None, [_text(part.get("filename")), _link(part.get("url"))]))
    if kind in ("source-url", "source-document"):
        return "\n".join(filter(None, (_link(part.get(key)) for key in ("title", "filename", "url"))))
    if kind == COMPACTION and isinstance(part.get("data"), Mapping):
        return _text(part["data"].get("summary"))
    if kind == TOOL_ROW and isinstance(part.get("data"), Mapping):
        return "\n".join(filter(None, (_text(part["data"].get(key)) for key in ("tool_name", "content"))))
    return ""


def spoken_text(parts: Sequence[tuple[str | None, Any]]) -> str:
    """A message's own text without a title, and without what was thought."""
    said = (part for _, part in parts if isinstance(part, Mapping) and part.get("type") != "reasoning")
    return "\n".join(filter(None, map(own_text, said)))[:LONGEST]


def result(part: Part) -> str | None:
    """What a tool gave back; None: it is no call, or it has not ended."""
    state = part.get("state")
    if not is_tool(part.get("type")) or not isinstance(state, str) or state not in FINAL:
        return None
    return "\n".join(filter(None, [_text(part.get("errorText")), spoken(part.get("output"))]))


# ---------------------------------------------------------------- facts of parts


def tool_name(part: Part) -> str:
    kind = _text(part.get("type"))
    return _text(part.get("toolName")) if kind == "dynamic-tool" else kind.removeprefix("tool-")


def is_error(part: Part) -> bool:
    return is_tool(part.get("type")) and part.get("state") in ("output-error", "output-denied")


def file_names(part: Part) -> Iterator[str]:
    """Names of files, and paths among the inputs of a tool."""
    if part.get("type") in ("file", "source-document"):
        yield _text(part.get("filename"))
    elif is_tool(part.get("type")):
        for key, value in _leaves(part.get("input")):
            if isinstance(value, str):
                yield from _paths_in(key, value)


def _paths_in(key: str, value: str) -> Iterator[str]:
    if len(value) <= _LONGEST_PATH and "\n" not in value and any(word in key.lower() for word in _PATHS):
        yield value
    else:
        yield from (found[0] for found in _PATH.finditer(value[:_SEARCHED]) if "://" not in found[0])


# ---------------------------------------------------------------- values as text


def plain(json_text: str) -> str:
    """JSON text, of which the end may be missing, as it would be read aloud."""
    return _ESCAPE.sub(_unescaped, json_text)


def _unescaped(found: re.Match[str]) -> str:
    code, character = found.groups()
    return chr(int(code, 16)) if code else _CONTROLS.get(character, character)


def spoken(value: Any) -> str:
    """A JSON value as lines of text."""
    lines = (_line(key, leaf) for key, leaf in _leaves(value))
    return "\n".join(filter(None, lines))


def _line(key: str, leaf: Any) -> str:
    text = leaf if isinstance(leaf, str) else str(leaf).lower() if isinstance(leaf, bool) else _number(leaf)
    if not text:
        return key
    return f"{key}: {text}" if key else text


def _number(leaf: Any) -> str:
    return "" if leaf is None or isinstance(leaf, list | tuple) else str(leaf)


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """(key, value) of all that is no object and no list, in their order. Without recursion: it may be nested deeply."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        key, each = waiting.pop()
        if isinstance(each, Mapping):
            waiting += reversed([(str(name), inner) for name, inner in _said(each)])
            if key:
                yield key, None
        elif isinstance(each, list | tuple) and each:
            waiting += [(key, inner) for inner in reversed(each)]
        else:
            yield key, each


def _said(value: Mapping[Any, Any]) -> Iterable[tuple[Any, Any]]:
    is_media = any(name in value for name in _OF_MEDIA)
    return ((name, inner) for name, inner in value.items() if not (is_media and name == "data"))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _link(value: Any) -> str:
    return "" if not isinstance(value, str) or value.startswith("data:") else value
