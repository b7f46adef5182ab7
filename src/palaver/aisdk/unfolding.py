"""A message that is there as the chunks that it could have come as: the fold of them is the message again.

For a turn that is written whole and goes on later: whoever takes it up finds its chunks, as if it had been streamed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..errors import BadValue
from .parts import is_tool

Chunk = dict[str, Any]
Part = Mapping[str, Any]
_CALL = {"toolCallId", "state", "input", "title", "toolMetadata", "providerExecuted", "callProviderMetadata"}
_ANSWERS = {"output-available": "output", "output-error": "errorText"}


def unfold(parts: list[Any], metadata: Any = None, message_id: str | None = None) -> list[Chunk]:
    """The chunks of an assistant's message, without its end. BadValue: a part that no chunk can say."""
    start: Chunk = {"type": "start"}
    if message_id is not None:
        start["messageId"] = message_id
    if metadata is not None:
        start["messageMetadata"] = metadata
    return [start, *(chunk for place, part in enumerate(parts) for chunk in _of_part(part, place))]


def _of_part(part: Any, place: int) -> Iterator[Chunk]:
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        raise BadValue("a part is an object with a text `type`")
    kind = part["type"]
    if is_tool(kind):
        return _tool(part)
    if kind.startswith("data-"):
        return _plain(part, "id", "data")
    rule = _RULES.get(kind)
    if rule is None:
        raise BadValue(f"no chunk says a part {kind!r:.60}; a turn that waits cannot have it")
    return rule(part, place)


def _text(part: Part, place: int) -> Iterator[Chunk]:
    _refuse_others(part, {"type", "id", "text", "state", "providerMetadata"})
    kind, name = part["type"], part.get("id", f"{part['type']}-{place}")
    about = {"providerMetadata": part["providerMetadata"]} if "providerMetadata" in part else {}
    yield {"type": f"{kind}-start", "id": name, **about}
    if part.get("text"):
        yield {"type": f"{kind}-delta", "id": name, "delta": part["text"]}
    yield {"type": f"{kind}-end", "id": name}


def _plain(part: Part, *keys: str) -> Iterator[Chunk]:
    """A part that is said by one chunk of the same fields."""
    _refuse_others(part, {"type", *keys})
    yield dict(part)


def _step(part: Part, place: int) -> Iterator[Chunk]:
    _refuse_others(part, {"type"})
    yield {"type": "start-step"}


_RULES: dict[str, Callable[[Part, int], Iterator[Chunk]]] = {
    "text": _text,
    "reasoning": _text,
    "step-start": _step,
    "file": lambda part, _: _plain(part, "url", "mediaType", "providerMetadata"),
    "source-url": lambda part, _: _plain(part, "sourceId", "url", "title", "providerMetadata"),
    "source-document": lambda part, _: _plain(part, "sourceId", "mediaType", "title", "filename", "providerMetadata"),
}


def _tool(part: Part) -> Iterator[Chunk]:
    """The call with its whole input and then, where there is one, its result."""
    state, is_dynamic = part.get("state"), part["type"] == "dynamic-tool"
    answer = _ANSWERS.get(str(state))
    if answer is None and state != "input-available":
        raise BadValue(f"a call of a turn that is written whole and waits is open or answered, not {state!r:.40}")
    _refuse_others(part, {"type", *_CALL} | ({"toolName"} if is_dynamic else set()) | _of_answer(answer))
    name = part.get("toolName") if is_dynamic else part["type"].removeprefix("tool-")
    call: Chunk = {"type": "tool-input-available", "toolCallId": part.get("toolCallId"), "toolName": name}
    call |= {"dynamic": True} if is_dynamic else {}
    call |= _picked(part, "title", "toolMetadata", "providerExecuted")
    yield call | {"input": part.get("input")} | _about(part, "callProviderMetadata")
    if answer is not None:
        result: Chunk = {"type": f"tool-{state}", "toolCallId": part.get("toolCallId"), answer: part.get(answer)}
        yield result | _about(part, "resultProviderMetadata")


def _of_answer(answer: str | None) -> set[str]:
    return set() if answer is None else {answer, "resultProviderMetadata"}


def _about(part: Part, field: str) -> Chunk:
    return {"providerMetadata": part[field]} if field in part else {}


def _picked(part: Part, *fields: str) -> Chunk:
    return {field: part[field] for field in fields if field in part}


def _refuse_others(part: Part, known: set[str]) -> None:
    """What no chunk says would be lost without a sign."""
    for key in part:
        if key not in known:
            where = f"`{key!s:.40}` of a part {part['type']!r:.40}"
            raise BadValue(f"no chunk says {where}; a turn that waits cannot have it")
