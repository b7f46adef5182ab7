"""The chunk vocabulary of AI SDK v6 (`ai` 6.0.326), how chunks come in, and the strict wire check.

The store is tolerant: `parse` takes any object with a text `type` and insists only on what the fold
needs. A useChat client is strict and fails the whole stream on one odd chunk: `check` says the same
of a chunk as its schema does, for the HTTP edge.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from ..base import exact_json
from ..errors import ChunkError

Raw = msgspec.Raw
_encode = msgspec.json.encode
_TEXTUAL = (str, bytes, Raw)
_DECODED = frozenset((str, bool, type(None)))
_OPAQUE = {"input", "output", "data"}  # a text here keeps its own escapes too


class Kind(NamedTuple):
    required: tuple[str, ...]
    optional: tuple[str, ...]


def _kind(fields: str) -> Kind:
    names = fields.split()
    return Kind(
        tuple(name for name in names if not name.endswith("?")),
        tuple(name[:-1] for name in names if name.endswith("?")),
    )


_TEXT = "id providerMetadata?"
_DELTA = "id delta providerMetadata?"
_CALL = "toolCallId toolName providerExecuted? providerMetadata? toolMetadata? dynamic? title?"
_RESULT = "toolCallId providerExecuted? providerMetadata? toolMetadata? dynamic?"

KINDS: dict[str, Kind] = {
    kind: _kind(fields)
    for kind, fields in {
        "start": "messageId? messageMetadata?",
        "start-step": "",
        "finish-step": "",
        "finish": "finishReason? messageMetadata?",
        "abort": "reason?",
        "error": "errorText",
        "message-metadata": "messageMetadata",
        "text-start": _TEXT,
        "text-delta": _DELTA,
        "text-end": _TEXT,
        "reasoning-start": _TEXT,
        "reasoning-delta": _DELTA,
        "reasoning-end": _TEXT,
        "file": "url mediaType providerMetadata?",
        "source-url": "sourceId url title? providerMetadata?",
        "source-document": "sourceId mediaType title filename? providerMetadata?",
        "data-*": "id? data transient?",
        "tool-input-start": _CALL + " inputEncoding?",
        "tool-input-delta": "toolCallId inputTextDelta",
        "tool-input-available": _CALL + " input",
        "tool-input-error": _CALL + " input errorText",
        "tool-approval-request": "approvalId toolCallId approvalDescriptor? inputSchemaInput? signature?",
        "tool-output-available": _RESULT + " output preliminary?",
        "tool-output-error": _RESULT + " errorText",
        "tool-output-denied": "toolCallId",
    }.items()
}

FINISH_REASONS = ("stop", "length", "content-filter", "tool-calls", "error", "other")
INPUT_ENCODINGS = ("json", "text")
_ANYTHING = {"input", "output", "data", "messageMetadata", "approvalDescriptor", "inputSchemaInput"}
_FLAGS = {"providerExecuted", "dynamic", "transient", "preliminary"}

# What the fold reads as text, kind by kind; everything else it only carries.
_FOLDED = {"id", "delta", "toolCallId", "toolName", "inputTextDelta", "errorText", "approvalId"}
_NEEDED: dict[str, tuple[str, ...]] = {
    name: tuple(field for field in kind.required if field in _FOLDED) for name, kind in KINDS.items()
}
# The field of a chunk that becomes a column: of a message; in the type of a tool's part, unless it is a dynamic one.
_COLUMN = {"start": "messageId"} | {name: "toolName" for name, kind in KINDS.items() if "toolName" in kind.required}


# ---------------------------------------------------------------- coming in


class Item(NamedTuple):
    """A chunk, read and as text."""

    chunk: dict[str, Any]
    text: str


def parse(given: Mapping[str, Any] | str | bytes) -> Item:
    """A chunk as its fields and its JSON text. Text stays verbatim; containers become `Raw`, so that
    they too stay verbatim and nothing is shared with the caller."""
    if type(given) is dict:
        chunk, text = _from_values(given)
    elif isinstance(given, _TEXTUAL):
        chunk, text = _from_text(given)
    elif isinstance(given, Mapping):
        chunk, text = _from_values(dict(given))
    else:
        raise ChunkError(f"a chunk is a JSON object, not {type(given).__name__}")
    check_shape(chunk)
    return Item(chunk, text)


def check_shape(chunk: Mapping[str, Any]) -> None:
    """The least that the fold relies on; unknown kinds and unknown fields pass."""
    kind = chunk.get("type")
    if not isinstance(kind, str):
        raise ChunkError("a chunk needs a text `type`")
    for field in _NEEDED.get(kind, ()):
        if not isinstance(chunk.get(field), str):
            raise _misfit(kind, field, "must be text")
    if kind == "start" and chunk.get("messageId") is not None and not isinstance(chunk["messageId"], str):
        raise _misfit(kind, "messageId", "must be text")


def refuse_foreign(kind: str) -> None:
    """A kind that we do not know is kept beside the message. But where it is one of ours misspelt, or one of another
    stream, what it says would be missing from the answer without a sign."""
    if kind in KINDS or kind.startswith("data-"):
        return
    meant = _WORDS.sub("-", kind).replace("_", "-").lower()
    if meant in KINDS:
        raise ChunkError(f"there is no chunk {kind!r}; the AI SDK writes {meant!r}", chunk_type=kind)
    if kind in _FOREIGN or kind.startswith(_FOREIGN_STARTS):
        why = f"{kind!r:.60} is of another stream than the AI SDK's; say it with turn.text(…) and turn.tool(…)"
        raise ChunkError(why, chunk_type=kind)


def refuse_unfit(item: Item) -> None:
    """What could not be stored later is refused when it comes: held back, it would keep what is held back with it from
    being written, and the turn from being sealed. A name that becomes a column; what is kept further inside."""
    chunk, kind = item.chunk, item.chunk["type"]
    if kind.startswith("data-"):
        exact_json.check_text(f"type of a {kind[:20]!a} chunk", kind)
    elif kind not in KINDS:
        exact_json.refuse_depth(item.text, inside=2)  # among the unknown chunks of the turn's facts
    elif kind == "tool-approval-request":
        exact_json.refuse_depth(item.text, inside=1)  # in the part's `approval`
    elif kind in _COLUMN and not (_COLUMN[kind] == "toolName" and decoded(chunk.get("dynamic")) is True):
        exact_json.check_text(f"{_COLUMN[kind]} of a {kind} chunk", chunk.get(_COLUMN[kind]))


_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")  # between the words of textDelta
_FOREIGN = ("message_start", "message_delta", "message_stop", "input_json_delta", "thinking_delta", "signature_delta")
_FOREIGN_STARTS = ("content_block_", "response.")  # of Anthropic's Messages, and of OpenAI's Responses


def open_values(text: str | bytes | Raw) -> dict[str, Any]:
    """A JSON object with its texts, flags and nulls decoded and everything else verbatim (`Raw`)."""
    return _open(_as_text(text), text)


def _open(source: str, given: str | bytes | Raw) -> dict[str, Any]:
    """`source` is the text of what was given."""
    chunk = exact_json.parse(source)
    if not isinstance(chunk, dict):
        raise ChunkError(f"a chunk is a JSON object, not {_said(chunk)}")
    for key, value in chunk.items():
        if type(value) not in _DECODED or (key in _OPAQUE and ("\\" in source or len(source) > exact_json.LARGE)):
            return _with_raw_values(chunk, given if type(given) is bytes else source)
    return chunk


def _with_raw_values(chunk: dict[str, Any], source: str | bytes) -> dict[str, Any]:
    for key, raw in exact_json.open_object(source).items():
        if type(chunk[key]) not in _DECODED or (key in _OPAQUE and type(chunk[key]) is str):
            chunk[key] = _own(raw, len(source))
    return chunk


def _own(raw: Raw, whole: int) -> Raw:
    """A slice keeps all of the chunk's bytes alive; where it is most of them, a copy would take as much again."""
    size = len(memoryview(raw))
    return raw if size > exact_json.LARGE and 2 * size > whole else raw.copy()


def _from_text(given: str | bytes | Raw) -> tuple[dict[str, Any], str]:
    text = exact_json.escape_text(_as_text(given))
    return _open(text, given), text


def _as_text(given: str | bytes | Raw) -> str:
    if isinstance(given, str):
        return str.__str__(given)  # itself, unless it is of a type of its own
    return exact_json.decode(given)


def _from_values(given: dict[str, Any]) -> tuple[dict[str, Any], str]:
    chunk = given.copy()
    for key, value in chunk.items():
        if type(value) is not str or type(key) is not str:
            return _from_mixed(chunk)
    try:
        return chunk, _encode(chunk).decode()
    except UnicodeEncodeError:  # a lone surrogate
        return chunk, exact_json.encode(chunk)


def _from_mixed(chunk: dict[str, Any]) -> tuple[dict[str, Any], str]:
    text = exact_json.encode(chunk)
    for key, value in chunk.items():
        if type(value) in (str, bool, int, float, type(None)):
            continue
        own = exact_json.dump(value)
        chunk[key] = exact_json.parse(own) if own.lstrip()[0] in '"ntf' else Raw(own.encode())
    return chunk, text


# ---------------------------------------------------------------- going out


def check(chunk: Mapping[str, Any]) -> None:
    """Refuse what a useChat client would refuse (`uiMessageChunkSchema`), naming the field."""
    if not isinstance(chunk, Mapping):
        raise ChunkError(f"a chunk is a JSON object, not {type(chunk).__name__}")
    name = decoded(chunk.get("type"))
    if not isinstance(name, str):
        raise ChunkError("a chunk needs a text `type`")
    kind = KINDS.get("data-*" if name.startswith("data-") else name)
    if kind is None:
        raise ChunkError(f"unknown chunk type {name!r}", chunk_type=name)
    for field in kind.required:
        if field not in chunk:
            raise _misfit(name, field, "is missing")
        _check_field(name, field, chunk[field])
    for field in kind.optional:
        if field in chunk:
            _check_field(name, field, chunk[field])


def decoded(value: Any) -> Any:
    return exact_json.parse(value) if type(value) is Raw else value


def _check_field(kind: str, field: str, value: Any) -> None:
    if field in _ANYTHING:
        return
    fits, wanted = _RULES.get(field, _RULES["text"])
    value = decoded(value)
    if not fits(value):
        hint = "; leave the key out instead of sending null" if value is None else ""
        raise _misfit(kind, field, f"must be {wanted}, not {_said(value)}{hint}")


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_object_of_objects(value: Any) -> bool:
    return _is_object(value) and all(_is_object(decoded(inner)) for key, inner in value.items() if key != "__proto__")


_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "text": (lambda value: isinstance(value, str), "text"),
    "toolMetadata": (_is_object, "an object"),
    "providerMetadata": (_is_object_of_objects, "an object of objects"),
    "finishReason": (lambda value: value in FINISH_REASONS, "one of " + ", ".join(FINISH_REASONS)),
    "inputEncoding": (lambda value: value in INPUT_ENCODINGS, "json or text"),
    **{flag: (lambda value: isinstance(value, bool), "true or false") for flag in _FLAGS},
}


def _misfit(kind: str, field: str, problem: str) -> ChunkError:
    return ChunkError(f"{kind} chunk: `{field}` {problem}", chunk_type=kind)


def _said(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return repr(value[:40])
    if isinstance(value, bool):
        return "a flag"
    names: dict[type, str] = {int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), type(value).__name__)
