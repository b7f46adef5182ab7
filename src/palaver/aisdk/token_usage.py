"""Tokens as a model's API tells them, counted once each: the AI SDK's, OpenAI's and Anthropic's usage objects.

Palaver's five counts do not overlap. The AI SDK and OpenAI count what came from the cache inside the input, and
reasoning inside the output: it is taken out again. Anthropic counts what was read from and written to the cache beside
the input.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import BadValue
from ..model import MOST, USAGE_KEYS, Usage


def read(given: Any) -> Usage:
    """The usage object of an API, a dict or an object with fields, as it is."""
    usage = _found(_fields(given))
    if usage is None:
        raise BadValue(
            "a usage object is that of the AI SDK, OpenAI or Anthropic, with whole numbers of tokens; "
            "else give input=, output=, reasoning=, cache_read=, cache_write="
        )
    return usage


def from_metadata(metadata: Any) -> Usage | None:
    """What a message's metadata says under `usage`: in the contract's words, or in those of an API."""
    return Usage.from_metadata(metadata) or _told_otherwise(metadata)


def _told_otherwise(metadata: Any) -> Usage | None:
    given = metadata.get("usage") if isinstance(metadata, dict) else None
    return _found(given) if isinstance(given, dict) else None


def _fields(given: Any) -> Mapping[str, Any]:
    if isinstance(given, Mapping):
        return given
    dump = getattr(given, "model_dump", None)  # what the APIs' own libraries give
    found = dump() if callable(dump) else getattr(given, "__dict__", None)
    return found if isinstance(found, Mapping) else {}


def _found(given: Mapping[str, Any]) -> Usage | None:
    for shape in (_ours, _ai_sdk, _openai_chat, _by_snake_case):
        try:
            usage = shape(given)
        except _NoCount:
            return None
        if usage is not None:
            return usage
    return None


class _NoCount(Exception):
    """A field that should be a count is none."""


def _count(value: Any) -> int:
    if value is None:
        return 0
    if type(value) is not int or not 0 <= value <= MOST:
        raise _NoCount
    return value


def _inside(given: Mapping[str, Any], name: str, *keys: str) -> int:
    """A count inside one of the fields, which may be missing or null; the first that is there."""
    details = _fields(given.get(name))
    return next((_count(details[key]) for key in keys if details.get(key) is not None), 0)


def _apart(whole: int, *parts: int) -> int:
    """A count without those that it includes. Where they are more than it, it did not include them."""
    return whole - sum(parts) if sum(parts) <= whole else whole


def _ours(given: Mapping[str, Any]) -> Usage | None:
    if not any(type(given.get(key)) is int for key in USAGE_KEYS):
        return None
    return Usage(**{key: _count(given.get(key)) for key in USAGE_KEYS})


def _ai_sdk(given: Mapping[str, Any]) -> Usage | None:
    if "inputTokens" not in given and "outputTokens" not in given:
        return None
    read = (
        _inside(given, "inputTokens", "cacheRead")
        or _inside(given, "inputTokenDetails", "cacheReadTokens")
        or _count(given.get("cachedInputTokens"))
    )
    write = _inside(given, "inputTokens", "cacheWrite") or _inside(given, "inputTokenDetails", "cacheWriteTokens")
    reasoning = (
        _inside(given, "outputTokens", "reasoning")
        or _inside(given, "outputTokenDetails", "reasoningTokens")
        or _count(given.get("reasoningTokens"))
    )
    whole, output = _total(given, "inputTokens"), _total(given, "outputTokens")
    return Usage(_apart(whole, read, write), _apart(output, reasoning), reasoning, read, write)


def _total(given: Mapping[str, Any], name: str) -> int:
    value = given.get(name)
    return _inside(given, name, "total") if isinstance(value, Mapping) else _count(value)


def _openai_chat(given: Mapping[str, Any]) -> Usage | None:
    if "prompt_tokens" not in given and "completion_tokens" not in given:
        return None
    read = _inside(given, "prompt_tokens_details", "cached_tokens")
    reasoning = _inside(given, "completion_tokens_details", "reasoning_tokens")
    whole, output = _count(given.get("prompt_tokens")), _count(given.get("completion_tokens"))
    return Usage(_apart(whole, read), _apart(output, reasoning), reasoning, read)


def _by_snake_case(given: Mapping[str, Any]) -> Usage | None:
    """OpenAI's responses and Anthropic's messages have the same names for what is different."""
    if "input_tokens" not in given and "output_tokens" not in given:
        return None
    whole, output = _count(given.get("input_tokens")), _count(given.get("output_tokens"))
    if "input_tokens_details" in given or "output_tokens_details" in given:
        read = _inside(given, "input_tokens_details", "cached_tokens")
        reasoning = _inside(given, "output_tokens_details", "reasoning_tokens")
        return Usage(_apart(whole, read), _apart(output, reasoning), reasoning, read)
    read, write = _count(given.get("cache_read_input_tokens")), _count(given.get("cache_creation_input_tokens"))
    return Usage(whole, output, 0, read, write)
