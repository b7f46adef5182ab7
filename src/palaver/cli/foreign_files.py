"""What a file looks like that is no export of ours: told by its first bytes, so that a person knows what was named.

Only what `palaver export` wrote can be taken in. Everything else is refused before there is a store to put it into.
"""

from __future__ import annotations

import re
from io import BufferedReader
from typing import BinaryIO

from palaver.exports.lines import FIRST, Lines
from palaver.exports.results import NotAnExport

from .exits import USAGE, Stop

_LOOKED_AT = 64 << 10
_PACKED = {
    b"\x1f\x8b": "a gzip file",
    b"PK\x03\x04": "a zip file",
    b"(\xb5/\xfd": "a zstd file",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ": "an xz file",
}
_WHOLE = "`palaver export` without --format writes what import reads"
# Words that are in the file, all of them, and what it is then. The first that fits counts.
_KNOWN: tuple[tuple[tuple[bytes, ...], str], ...] = (
    ((rb'\A\{"session":\{"id":', rb'"agent":'), f"what `palaver export --format json` writes; {_WHOLE}"),
    ((rb'\A\{"(table|session)":"',), "an export whose first line is missing; fetch it again, whole"),
    ((rb"\A# ", rb"\n- Session: \S+\n- Agent: "), f"what `palaver export --format markdown` writes; {_WHOLE}"),
    ((rb'"(parentUuid|leafUuid)"\s*:', rb'"(sessionId|uuid|leafUuid)"\s*:'), "a Claude Code session"),
    ((rb'"type"\s*:\s*"(file-history-snapshot|queue-operation)"',), "a Claude Code session"),
    ((rb'"type"\s*:\s*"(session_meta|response_item|turn_context)"', rb'"payload"\s*:'), "a Codex session"),
    ((rb'"chat_messages"\s*:',), "an export of Claude.ai"),
    ((rb'"mapping"\s*:', rb'"(create_time|current_node|conversation_id)"\s*:'), "an export of ChatGPT"),
    ((rb"\A# aider chat started at ",), "a chat history of aider"),
    ((rb'\A\{"type"\s*:\s*"session"', rb'"cwd"\s*:'), "a session of pi"),
    (
        (rb'"role"\s*:', rb'"(content|parts)"\s*:'),
        "messages as JSON (`--from openai`, `anthropic` or `aisdk` takes such)",
    ),
    ((rb"\A\s*[\[{]",), "JSON of another program"),
    ((rb"\A\s*<(!doctype|html|\?xml)",), "a web page"),
    ((rb"\A#+ ",), "Markdown"),
)


class Looked:
    """A source whose first line was looked at: it is read once more."""

    def __init__(self, line: bytes, rest: BinaryIO) -> None:
        self._line, self._rest = line, rest

    def readline(self, limit: int = -1) -> bytes:
        cut = len(self._line) if limit < 0 else limit
        line, self._line = self._line[:cut], self._line[cut:]
        return line or self._rest.readline(limit)

    read = readline


def checked(name: str, source: BinaryIO) -> Looked:
    """The source, if it is an export; else it is said what it looks like."""
    line = source.readline(FIRST + 1)
    try:
        Lines(Looked(line, source)).first()  # type: ignore[arg-type]
    except NotAnExport as error:
        if line.startswith(b'{"palaver":"export"'):
            raise Stop(USAGE, f"{name}: {error}", "NotAnExport") from None
        what = looks_like(line + _more(source))
        looks = "is" if what.startswith(("empty", "a SQLite", "no text")) else "looks like"
        said = f"{name} {looks} {what}; import reads what `palaver export` wrote (nothing was changed)"
        raise Stop(USAGE, said, "NotAnExport") from None
    return Looked(line, source)


def _more(source: BinaryIO) -> bytes:
    """A pipe is not waited for: whoever writes to it may go on for long, and what has come is enough."""
    if isinstance(source, BufferedReader) and not source.seekable():
        return source.read1(_LOOKED_AT)
    return source.read(_LOOKED_AT)


def looks_like(head: bytes) -> str:
    if not head:
        return "empty"
    if head.startswith(b"SQLite format 3\0"):
        return "a SQLite database: a store goes with --store or `palaver copy`, a state.db of Hermes with --from hermes"
    packed = next((what for magic, what in _PACKED.items() if head.startswith(magic)), None)
    if packed:
        return f"{packed}: unpack it first"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "text in UTF-16"
    if b"\0" in head or not _is_text(head):
        return "no text at all"
    head = head.removeprefix(b"\xef\xbb\xbf")
    for words, what in _KNOWN:
        if all(re.search(word, head, re.IGNORECASE) for word in words):
            return what
    return "text that is no export"


def _is_text(head: bytes) -> bool:
    """UTF-8; the last character may be cut off."""
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 3 and error.reason == "unexpected end of data"
    return True
