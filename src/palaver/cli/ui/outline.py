"""A JSON value as a person reads it: `key: value` in lines, what is inside indented, long text as text.

What tools take and give is any JSON. Text is shown as text; a text that MCP wraps up (`content`, a list of texts) is
unwrapped. What is left out of a long text is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from palaver.base import exact_json

_DEEPEST = 12  # levels; what lies deeper is shown as JSON
_BEGIN, _END = 12, 6  # lines that are shown of a long text
_LONG = 400  # characters that are shown of a long line


def outline(value: Any) -> str:
    """The value in lines; a text is the text itself."""
    value = _unwrapped(value)
    return value if isinstance(value, str) else "\n".join(_lines(value, 0))


def _unwrapped(value: Any) -> Any:
    """A tool's answer as MCP has it: a list of texts is one text, which stands alone if nothing else was said."""
    if not isinstance(value, dict) or not _are_texts(value.get("content")):
        return value
    text = "\n".join(item["text"] for item in value["content"])
    return text if len(value) == 1 else {**value, "content": text}


def _are_texts(content: Any) -> bool:
    return isinstance(content, list) and bool(content) and all(map(_is_text, content))


def _is_text(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "text" and isinstance(item.get("text"), str)


def _lines(value: Any, level: int) -> Iterator[str]:
    if not is_nested(value) or level > _DEEPEST:
        yield from (value if isinstance(value, str) else exact_json.dump(value)).split("\n")
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _field(key, inner, level)
    else:
        for inner in value:
            first, *more = _lines(inner, level + 1)
            yield f"- {first}"
            yield from (f"  {line}" for line in more)


def _field(key: str, value: Any, level: int) -> Iterator[str]:
    """`key: value` in a line if it is one, else below."""
    lines = list(_lines(value, level + 1))
    name = key.replace("\n", " ")
    if len(lines) == 1 and not is_nested(value):
        yield f"{name}: {lines[0]}".rstrip()
        return
    yield f"{name}:"
    yield from (f"  {line}" for line in lines)


def is_nested(value: Any) -> bool:
    """Whether it has keys or elements, which are shown below its name."""
    return isinstance(value, dict | list) and bool(value)


def shortened(text: str, dots: str) -> str:
    """The beginning and the end of a long text, and how much is between them."""
    lines = text.split("\n")
    left = len(lines) - _BEGIN - _END
    if left > 1:
        lines[_BEGIN:-_END] = [f"{dots} {left:,} more lines (--detail)"]
    return "\n".join(_shortened_line(line, dots) for line in lines)


def _shortened_line(line: str, dots: str) -> str:
    left = len(line) - _LONG
    return f"{line[:_LONG]}{dots} {left:,} more characters (--detail)" if left > 40 else line
