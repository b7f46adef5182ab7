"""A session as a page for people.

What was said may be hostile, and a page is opened in things that render HTML, load pictures and follow links. So text
keeps its Markdown but no raw HTML passes, pictures are not loaded, links lead only to the web or to mail, headings
stay below ours, and code is fenced anew with a fence that nothing inside can close.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from ..aisdk.parts import COMPACTION, is_tool
from ..base import arguments, exact_json
from ..core import rows
from ..core.read import sessions, transcript, turns
from ..core.read.transcript import Message
from ..db.engine import Database, Tx
from ..errors import BadValue
from ..model import SessionInfo
from .escape import visible

_ROLES = {"user": "User", "assistant": "Assistant", "system": "System"}
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})([^`]*)$")
_TICKS = re.compile(r"`+")
_HEADING = re.compile(r"((?:[ \t]|[-*+] |\d{1,9}[.)] )*)(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r"([ \t]*)([=-])(?=[=-]*[ \t]*$)")
_LINK = re.compile(r"\](?=\((?!https?://|mailto:))|\](?=:)")
_MEANS_SOMETHING = re.compile(  # inside a line; elsewhere a point, a dash or a brace is only itself
    r"[`*\[\]~]"
    r"|\\(?=[!-/:-@\[-`{-~]|$)"  # a backslash that would take away what follows
    r"|(?<![^\W_])_|_(?![^\W_])"  # at the edge of a word
    r"|(?:^|(?<= ))#(?=#*$)"  # at the end of a heading
)


def markdown(db: Database, session_id: str, turn: str | None = None) -> Iterator[str]:
    """The page in pieces. With `turn`, the messages on the way to it."""
    arguments.text("session_id", session_id)
    arguments.text_or_none("turn", turn)
    with arguments.database(db).read() as tx:
        info = sessions.info(tx, session_id)
        yield from _top(info)
        turn_id = None
        for message in transcript.iterate(tx, session_id, turn):
            if message.turn_id != turn_id:
                yield from _end_of_turn(tx, turn_id)
                turn_id = message.turn_id
            yield from _message(message)
        yield from _end_of_turn(tx, turn_id)


def _top(info: SessionInfo) -> Iterator[str]:
    yield f"# {inline(info.title or info.preview or 'Untitled')}\n\n"
    for name, value in (("Session", info.id), ("Agent", info.agent), ("Workspace", info.workspace)):
        if value:
            yield f"- {name}: {inline(value)}\n"
    yield f"- Begun: {_time(info.created_at)}\n"


def _message(message: Message) -> Iterator[str]:
    role = _ROLES.get(message.role, inline(message.role))
    yield f"\n## {role} · {_time(message.created_at)}\n"
    for text in message.parts:
        yield from _part(text)


def _end_of_turn(tx: Tx, turn_id: str | None) -> Iterator[str]:
    row = rows.turn.one(tx, turn=turn_id) if turn_id else None
    if row is not None and row.status != "completed":
        turn = turns.info(row)
        told = [turn.error.code, turn.error.message] if turn.error else [turn.abort_reason]
        why = ": ".join(inline(text) for text in told if text)
        yield f"\n*This turn is {inline(turn.status)}{': ' if why else ''}{why}.*\n"


# ---------------------------------------------------------------- parts


def _part(text: str) -> Iterator[str]:
    try:
        part = exact_json.parse(text)
    except BadValue:
        part = None
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(part, dict) or not isinstance(kind, str):
        yield _fenced(text, "json")
    elif kind == "step-start":
        return
    elif kind == "text" and isinstance(part.get("text"), str):
        yield "\n" + prose(part["text"])
    elif kind == "reasoning" and isinstance(part.get("text"), str):
        yield "\n" + _quoted(prose(part["text"]))
    elif is_tool(kind):
        yield from _tool(kind, part, exact_json.open_object(text))
    elif kind in ("file", "source-url", "source-document"):
        yield _reference(kind, part)
    elif kind == COMPACTION and isinstance(part.get("data"), dict):
        yield from _summary(part["data"])
    else:
        yield f"\n**{inline(kind)}**\n" + _fenced(text, "json")


def _tool(kind: str, part: dict[str, Any], stored: dict[str, Any]) -> Iterator[str]:
    name = part.get("toolName") if kind == "dynamic-tool" else kind.removeprefix("tool-")
    yield f"\n**Tool {inline(str(name))}** · {inline(str(part.get('state')))}\n"
    for key, label in (("input", "Input"), ("output", "Output")):
        if key in part:
            yield f"\n{label}:\n" + _shown(part[key], stored[key])
    yield from _verdict(part.get("approval"))
    if "errorText" in part:
        yield "\n**Error:**\n" + _fenced(str(part["errorText"]))


def _verdict(approval: Any) -> Iterator[str]:
    """What a person said to a call, and why."""
    said = approval.get("approved") if isinstance(approval, dict) else None
    if type(said) is bool:
        reason = inline(str(approval.get("reason") or ""))
        yield f"\n**{'Approved' if said else 'Denied'}**{': ' if reason else ''}{reason}\n"


def _summary(data: dict[str, Any]) -> Iterator[str]:
    """What stands for the turns before it. Ids are for programs: the other exports have them."""
    number = data.get("turns_summarized")
    of = f" of {number:,} turn{'' if number == 1 else 's'}" if type(number) is int else ""
    yield f"\n**Summary{of}**\n\n" + prose(str(data.get("summary") or ""))


def _shown(value: Any, stored: Any) -> str:
    return _fenced(value) if isinstance(value, str) else _fenced(bytes(stored).decode(), "json")


def _reference(kind: str, part: dict[str, Any]) -> str:
    named = [part.get(key) for key in ("title", "filename", "mediaType")]
    words = [inline(value) for value in named if isinstance(value, str)]
    url = part.get("url")
    if isinstance(url, str):
        words.append(_data_url(url) if url.lstrip()[:5].lower() == "data:" else inline(url))
    return f"\n**{kind}** {' · '.join(words)}\n"


def _data_url(url: str) -> str:
    """What a file is that stands in the address itself: the page has no use for its bytes."""
    head, _, body = url.partition(",")
    length = len(body) * 3 // 4 - body[-2:].count("=") if head.endswith(";base64") else len(body)
    return f"{length:,} bytes"


def _time(at: int) -> str:
    try:
        return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return str(at)


# ---------------------------------------------------------------- text


def inline(text: str) -> str:
    """One line of plain text: nothing in it is Markdown."""
    return _MEANS_SOMETHING.sub(r"\\\g<0>", _escaped(" ".join(visible(text).split())))


def prose(text: str) -> str:
    """Markdown that somebody wrote, made harmless; its code blocks are fenced anew."""
    out: list[str] = []
    lines = visible(text).split("\n")
    at = 0
    while at < len(lines):
        opening = _FENCE.match(lines[at])
        if opening is None:
            out.append(_harmless(lines[at]) + "\n")
            at += 1
            continue
        fence, language = opening.groups()
        end = _end_of_fence(lines, at + 1, fence)
        out.append(_fenced("\n".join(lines[at + 1 : end]), language.strip()) + "\n")
        at = end + 1
    return "".join(out)


def _end_of_fence(lines: list[str], at: int, fence: str) -> int:
    closing = re.compile(rf"[ \t]*{fence[0]}{{{len(fence)},}}[ \t]*$")
    while at < len(lines) and not closing.match(lines[at]):
        at += 1
    return at


def _harmless(line: str) -> str:
    line = _escaped(line)
    line = _HEADING.sub(_lower, line, count=1) if "#" in line else line
    line = _UNDERLINE.sub(r"\1\\\2", line, count=1)
    return _LINK.sub(r"\\]", line).replace("![", "\\!\\[")


def _lower(heading: re.Match[str]) -> str:
    indent, marks = heading.groups()
    return f"{indent}{'#' * min(6, len(marks) + 2)}"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _fenced(text: str, language: str = "") -> str:
    text = visible(text)
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    word = language if re.fullmatch(r"[\w+#.-]{1,30}", language, re.ASCII) else ""
    return f"\n{fence}{word}\n{text}\n{fence}\n"


def _quoted(text: str) -> str:
    return "".join(f"> {line}\n" for line in text.rstrip("\n").split("\n"))
