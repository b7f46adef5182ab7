"""A row of Hermes' `messages` and the UIMessage that holds it, both ways. No I/O.

What a row says goes where the AI SDK has a place for it: content into text and file parts, reasoning into a reasoning
part, each call of `tool_calls` into a tool part, a `tool` row into the result of its call. Then the row is made again
from that, and the columns that came out differently (NULL or '', columns of later versions, JSON in another spelling)
are kept beside it, under `hermes`. So every row comes back as it was, and what is ordinary is kept once.

A row here is a dict of columns without `id`, `session_id` and `timestamp`; one that is not in it is NULL. JSON columns
are texts, as Hermes stores them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import chain, count
from typing import Any

from ...aisdk.parts import COMPACTION, FINAL, INTERRUPTED, TOOL_ROW, is_tool
from ...base import exact_json
from ...base.exact_json import Raw
from ...errors import BadValue
from ...model import ROLES

Row = dict[str, Any]
Part = dict[str, Any]

# fmt: off
SESSION_COLUMNS = (
    "id", "source", "user_id", "model", "model_config", "system_prompt", "parent_session_id", "started_at", "ended_at",
    "end_reason", "message_count", "tool_call_count", "input_tokens", "output_tokens", "cache_read_tokens",
    "cache_write_tokens", "reasoning_tokens", "billing_provider", "billing_base_url", "billing_mode",
    "estimated_cost_usd", "actual_cost_usd", "cost_status", "cost_source", "pricing_version", "title",
)
MESSAGE_COLUMNS = (
    "id", "session_id", "role", "content", "tool_call_id", "tool_calls", "tool_name", "timestamp", "token_count",
    "finish_reason", "reasoning", "reasoning_details", "codex_reasoning_items",
)
# fmt: on

STRUCTURED = "\x00json:"  # what Hermes writes before content that is a list or an object
_OURS = "hermes"
_DETAILS = ("reasoning_details", "codex_reasoning_items")
_TOOLS, _REASONING = ('{"type":"tool-', '{"type":"dynamic-tool"'), '{"type":"reasoning"'
_CALL, _RESULT = "callProviderMetadata", "resultProviderMetadata"
_AS_TEXT, _AS_VALUE = 0, 1  # how the shape of a call says where the arguments stand
_PLAIN_CALL = {"id": 0, "type": "function", "function": {"name": 0, "arguments": _AS_TEXT}}
_PLAIN = json.dumps(_PLAIN_CALL)
_UNKNOWN_TOOL = "unknown"
_MARKED = "structured"  # kept beside a result whose content Hermes stores as JSON behind its mark


# ---------------------------------------------------------------- from a row


def message_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The message of a row that is no result of a call: any role but those of the AI SDK is a row as it stands."""
    if row["role"] not in ROLES or (row.get("tool_calls") is not None and row["role"] != "assistant"):
        data = {name: value for name, value in row.items() if value is not None}
        return {"role": "system", "parts": [{"type": TOOL_ROW, "data": data}]}
    parts = [*_reasoning_parts(row), *_content_parts(row), *_call_parts(row)]
    metadata = {"finish": row.get("finish_reason"), "token_count": row.get("token_count")}
    said: dict[str, Any] = {name: value for name, value in metadata.items() if value is not None}
    left = _left(row, _plain_row(row["role"], said, parts))
    if left:
        said[_OURS] = left
    return {"role": row["role"], **({"metadata": said} if said else {}), "parts": parts}


def result_of(row: Mapping[str, Any], call: Mapping[str, Any]) -> tuple[Any, dict[str, Any] | None]:
    """The output that a `tool` row gives to the part of its call, and what is kept beside it."""
    content = row.get("content")
    output = decoded(content)
    if output is not content and STRUCTURED + json.dumps(output) == content:  # as it is, without Hermes' mark
        return output, {_OURS: _left(row, _plain_result(call, output) | {"content": content}) | {_MARKED: True}}
    left = _left(row, _plain_result(call, content))
    return content, {_OURS: left} if left else None


def has_calls(message: Mapping[str, Any]) -> bool:
    return any(is_tool(part["type"]) for part in message["parts"])


def _left(row: Mapping[str, Any], plain: Row) -> Row:
    """The columns that are not as they would be made again."""
    names = dict.fromkeys([*row, *plain])
    return {name: row.get(name) for name in names if row.get(name) != plain.get(name)}


def _reasoning_parts(row: Mapping[str, Any]) -> Iterable[Part]:
    details = {name: raw for name in _DETAILS if (raw := _raw(row.get(name))) is not None}
    if row.get("reasoning") or details:
        part: Part = {"type": "reasoning", "text": row.get("reasoning") or ""}
        yield part | ({"providerMetadata": {_OURS: details}} if details else {})


def _content_parts(row: Mapping[str, Any]) -> Iterable[Part]:
    content = row.get("content")
    if isinstance(content, str) and content.startswith(STRUCTURED):
        found = _structured_parts(decoded(content))
        if found:
            return found
        content = None
    if content or row["role"] != "assistant":
        return [{"type": "text", "text": content if isinstance(content, str) else ""}]
    return []


def _structured_parts(content: Any) -> list[Part]:
    """Texts and pictures of a list, as far as a UIMessage has a place for them."""
    found: list[Part] = []
    for piece in content if isinstance(content, list) else ():
        if not isinstance(piece, dict):
            continue
        url = piece.get("image_url")
        url = url.get("url") if isinstance(url, dict) else url
        if isinstance(piece.get("text"), str):
            found.append({"type": "text", "text": piece["text"]})
        elif isinstance(url, str):
            found.append({"type": "file", "mediaType": _media_type(url), "url": url})
    return found


def _media_type(url: str) -> str:
    head, _, _ = url.partition(",")
    kind, _, _ = head.removeprefix("data:").partition(";")
    return kind if head.startswith("data:") and "/" in kind else "image/*"


def _call_parts(row: Mapping[str, Any]) -> Iterable[Part]:
    if row.get("tool_calls") is None:
        return
    found = _parsed(row["tool_calls"])
    calls = found if isinstance(found, list) else [found]
    given = [call.get("id") for call in calls if isinstance(call, dict)]
    taken = {name for name in given if isinstance(name, str) and given.count(name) > 1}  # nobody can answer by these
    for place, call in enumerate(calls):
        yield _call_part(call, place, taken)


def _call_part(call: Any, place: int, taken: set[str]) -> Part:
    """A call whose id nobody can answer by (none, or given twice) gets one of its own."""
    about = call if isinstance(call, dict) else {}
    function = about.get("function")
    function = function if isinstance(function, dict) else {}
    name, known = function.get("name"), about.get("id")
    free = (f"call-{number}" for number in count(place))
    names = chain([known] if isinstance(known, str) and _is_name(known) else [], free)
    call_id = next(name for name in names if name not in taken)
    taken.add(call_id)
    given = function.get("arguments")
    text = _raw(given)
    part: Part = {"type": f"tool-{name if _is_name(name) else _UNKNOWN_TOOL}", "toolCallId": call_id}
    part |= {"state": "input-available", "input": given if text is None else text}
    shape = _shape(about, _AS_VALUE if text is None else _AS_TEXT)
    return part if json.dumps(shape) == _PLAIN else part | {_CALL: {_OURS: {"call": shape}}}


def _shape(call: Mapping[str, Any], how: int) -> dict[str, Any]:
    """A call without what its part says; the order of its keys stays."""
    shape = {key: 0 if key == "id" else value for key, value in call.items()}
    function = shape.get("function")
    if isinstance(function, dict):
        held = {"name": 0, "arguments": how}
        shape["function"] = {key: held.get(key, value) for key, value in function.items()}
    return shape


# ---------------------------------------------------------------- to a row


def opened(text: str) -> Part:
    """A stored part, decoded but for what a row has as JSON text: that keeps its bytes."""
    if text.startswith(_TOOLS):
        found = exact_json.open_object(text)
        return {key: value if key == "input" else exact_json.parse(value) for key, value in found.items()}
    if text.startswith(_REASONING) and f'"{_OURS}"' in text:
        return _opened_reasoning(text)
    part = exact_json.parse(text)
    is_part = isinstance(part, dict) and isinstance(part.get("type"), str)
    return part if is_part else {"type": "data-damaged"}


def _opened_reasoning(text: str) -> Part:
    found = exact_json.open_object(text)
    part: Part = {key: exact_json.parse(value) for key, value in found.items()}
    if isinstance(part.get("providerMetadata"), dict) and isinstance(part["providerMetadata"].get(_OURS), dict):
        about = exact_json.open_object(found["providerMetadata"])
        part["providerMetadata"] |= {_OURS: exact_json.open_object(about[_OURS])}
    return part


def row_of(role: str, metadata: Mapping[str, Any], parts: list[Part]) -> Row:
    """The row of a message, whoever wrote it: of one that is a row as it stands, that row."""
    if is_row(parts):
        data = parts[0].get("data")
        return dict(data) if isinstance(data, dict) and isinstance(data.get("role"), str) else {"role": "tool"}
    row = _plain_row(role, metadata, parts)
    left = metadata.get(_OURS)
    return row | left if isinstance(left, dict) else row


def is_row(parts: list[Part]) -> bool:
    return len(parts) == 1 and parts[0].get("type") == TOOL_ROW


def result_row(part: Part) -> Row:
    """The `tool` row of a call that has its result."""
    row = _plain_result(part, _output_of(part))
    about = part.get(_RESULT)
    left = about.get(_OURS) if isinstance(about, dict) else None
    if not isinstance(left, dict):
        return row
    if left.get(_MARKED):
        row["content"] = STRUCTURED + json.dumps(_output_of(part))
    return row | {name: value for name, value in left.items() if name != _MARKED}


def has_result(part: Mapping[str, Any]) -> bool:
    """Whether a part is a call with a row of its own. A call that was interrupted has none: nobody said anything."""
    if not is_tool(part.get("type")) or part.get("state") not in FINAL or part.get("preliminary"):
        return False
    return not (part["state"] == "output-error" and part.get("errorText") == INTERRUPTED)


def decoded(content: Any) -> Any:
    """Content as a program gave it: what is structured is stored as JSON."""
    if not isinstance(content, str) or not content.startswith(STRUCTURED):
        return content
    try:
        return json.loads(content.removeprefix(STRUCTURED))
    except ValueError:
        return content


def encoded(content: Any) -> str | None:
    """Content as it is stored: text, or JSON behind Hermes' mark; a number is text in a column of texts."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, bool | int | float):
        return str(int(content) if isinstance(content, bool) else content)
    try:
        return STRUCTURED + json.dumps(content)
    except (TypeError, ValueError):
        raise BadValue(f"content is text, or a list or object of JSON, not {type(content).__name__}") from None


def _plain_row(role: str, metadata: Mapping[str, Any], parts: list[Part]) -> Row:
    """As a message makes it without what is kept beside."""
    calls = [_call_of(part) for part in parts if is_tool(part["type"])]
    row: Row = {"role": role, "content": _content_of(parts), "token_count": metadata.get("token_count")}
    row |= {"finish_reason": metadata.get("finish"), "tool_calls": json.dumps(calls) if calls else None}
    return row | _reasoning_of(parts)


def _content_of(parts: list[Part]) -> str | None:
    """The texts of a message; of a compaction, its summary."""
    said = [part for part in parts if part["type"] in ("text", "file", COMPACTION)]
    if any(part["type"] == "file" for part in said):
        return STRUCTURED + json.dumps([_piece(part) for part in said])
    texts = [_summary(part) if part["type"] == COMPACTION else str(part.get("text", "")) for part in said]
    return "\n\n".join(texts) if texts else None


def _summary(part: Part) -> str:
    data = part.get("data")
    return str(data.get("summary", "")) if isinstance(data, dict) else ""


def _piece(part: Part) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "text", "text": part.get("text", "")}
    return {"type": "image_url", "image_url": {"url": part.get("url", "")}}


def _reasoning_of(parts: list[Part]) -> Row:
    found = [part for part in parts if part["type"] == "reasoning"]
    texts = [str(part["text"]) for part in found if part.get("text")]
    row: Row = {"reasoning": "\n\n".join(texts) or None}
    for part in found:
        about = part.get("providerMetadata")
        kept = about.get(_OURS) if isinstance(about, dict) else None
        given: Mapping[str, Any] = kept if isinstance(kept, dict) else {}
        row |= {name: exact_json.dump(given[name]) for name in _DETAILS if name in given}
    return row


def _call_of(part: Part) -> dict[str, Any]:
    about = part.get(_CALL)
    kept = about.get(_OURS) if isinstance(about, dict) else None
    shape = kept.get("call") if isinstance(kept, dict) else None
    shape = shape if isinstance(shape, dict) else _PLAIN_CALL
    call = {key: part.get("toolCallId") if key == "id" else value for key, value in shape.items()}
    function = call.get("function")
    if isinstance(function, dict):
        call["function"] = {key: _of_function(key, value, part) for key, value in function.items()}
    return call


def _of_function(key: str, kept: Any, part: Part) -> Any:
    if key == "name":
        return tool_name(part)
    if key == "arguments":
        return _value_of(part.get("input")) if kept == _AS_VALUE else _text_of(part.get("input"))
    return kept


def _value_of(value: Any) -> Any:
    return exact_json.parse(value) if isinstance(value, Raw) else value


def _text_of(value: Any) -> str:
    """The JSON text of an input; where its bytes are known, these."""
    return exact_json.decode(value) if isinstance(value, Raw) else json.dumps(value)


def tool_name(part: Mapping[str, Any]) -> str:
    return str(part.get("toolName") if part["type"] == "dynamic-tool" else part["type"].removeprefix("tool-"))


def _plain_result(part: Mapping[str, Any], output: Any) -> Row:
    return {
        "role": "tool",
        "content": output if isinstance(output, str) or output is None else _text_of(output),
        "tool_call_id": part.get("toolCallId"),
        "tool_name": tool_name(part),
    }


def _output_of(part: Part) -> Any:
    if part["state"] == "output-error":
        return part.get("errorText")
    if part["state"] == "output-denied":
        approval = part.get("approval")
        return (approval.get("reason") if isinstance(approval, dict) else None) or "denied"
    return part.get("output")


# ---------------------------------------------------------------- small questions


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return None


def _raw(text: Any) -> Raw | None:
    """A text that can be kept as the JSON that it is; None if it cannot."""
    if not isinstance(text, str):
        return None
    try:
        exact_json.parse(text)
        return Raw(text.encode())
    except (BadValue, UnicodeEncodeError):
        return None


def _is_name(value: Any) -> bool:
    """Whether a column can hold it as a name."""
    try:
        return bool(exact_json.check_name("a name", value)) if isinstance(value, str) else False
    except BadValue:
        return False
