"""What is wrong with a value is said with its place; nothing is guessed."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from palaver import formats
from palaver.errors import BadValue

from . import test_anthropic, test_openai_chat, test_openai_responses
from .support import messages


def calls(**call: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": "Hi."}, {"role": "assistant", "tool_calls": [call]}]


def asked(block: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [block]}]


def spoken(**block: Any) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": [block]}]


FUNCTION = {"name": "look", "arguments": "{}"}
ROLES = "system, developer, user, assistant, tool, function"
BAD: list[tuple[str, Any, str]] = [
    ("openai", 7, "a conversation is a list, or an object with messages, not 7"),
    ("openai", {"messages": None}, "messages is a list, not None"),
    ("openai", ["Hi."], "messages[0] is an object, not 'Hi.'"),
    ("openai", [{}], "messages[0].role is missing"),
    ("openai", [{"role": 1}], "messages[0].role is text, not 1"),
    ("openai", [{"role": "bot", "content": ""}], f"messages[0].role is one of {ROLES}, not 'bot'"),
    ("openai", [{"role": "user"}], "messages[0].content is missing"),
    ("openai", [{"role": "user", "content": None}], "messages[0].content is text or a list, not None"),
    ("openai", [{"role": "assistant", "content": 1}], "messages[0].content is text or a list, not 1"),
    ("openai", asked("Hi."), "messages[0].content[0] is an object, not 'Hi.'"),
    ("openai", asked({"text": "Hi."}), "messages[0].content[0].type is missing"),
    ("openai", asked({"type": "text"}), "messages[0].content[0].text is missing"),
    (
        "openai",
        asked({"type": "image_url", "image_url": "x"}),
        "messages[0].content[0].image_url is an object, not 'x'",
    ),
    ("openai", asked({"type": "image_url", "image_url": {}}), "messages[0].content[0].image_url.url is missing"),
    ("openai", calls(type="function", function=FUNCTION), "messages[1].tool_calls[0].id is missing"),
    ("openai", calls(id="c", function={"name": "look"}), "messages[1].tool_calls[0].function.arguments is missing"),
    (
        "openai",
        calls(id="c", function={"name": "look", "arguments": {}}),
        "messages[1].tool_calls[0].function.arguments is text, not {}",
    ),
    ("openai", calls(id="c", type="magic"), "messages[1].tool_calls[0].type is function or custom, not 'magic'"),
    ("openai", calls(id="c", type="custom", custom={"name": "x"}), "messages[1].tool_calls[0].custom.input is missing"),
    ("openai", [{"role": "tool", "content": "a"}], "messages[0].tool_call_id is missing"),
    ("openai", [{"role": "function", "content": "a"}], "messages[0].name is missing"),
    ("openai-responses", [{}], "input[0].type is missing"),
    ("openai-responses", {"output": [{"type": 1}]}, "output[0].type is text, not 1"),
    ("openai-responses", [{"role": "user"}], "input[0].content is missing"),
    (
        "openai-responses",
        [{"role": "tool", "content": "a"}],
        "input[0].role is one of system, developer, user, assistant, not 'tool'",
    ),
    ("openai-responses", [{"type": "function_call"}], "input[0].call_id is missing"),
    ("openai-responses", [{"type": "function_call", "call_id": "c"}], "input[0].name is missing"),
    ("openai-responses", [{"type": "reasoning", "id": "r"}], "input[0].summary is missing"),
    ("openai-responses", [{"type": "reasoning", "summary": [{}]}], "input[0].summary[0].text is missing"),
    ("openai-responses", [{"type": "web_search_call"}], "input[0].id is missing"),
    ("openai-responses", [{"type": "function_call_output", "call_id": "c"}], "input[0].output is missing"),
    ("anthropic", [{"role": "user"}], "messages[0].content is missing"),
    ("anthropic", [{"role": "tool", "content": "a"}], "messages[0].role is one of system, user, assistant, not 'tool'"),
    ("anthropic", {"system": 1, "messages": []}, "system is text or a list, not 1"),
    ("anthropic", {"system": [{"type": "text"}], "messages": []}, "system[0].text is missing"),
    ("anthropic", asked({"type": "image"}), "messages[0].content[0].source is missing"),
    (
        "anthropic",
        asked({"type": "image", "source": {"type": "base64", "data": "x"}}),
        "messages[0].content[0].source.media_type is missing",
    ),
    ("anthropic", asked({"type": "tool_result"}), "messages[0].content[0].tool_use_id is missing"),
    ("anthropic", spoken(type="thinking"), "messages[0].content[0].thinking is missing"),
    ("anthropic", spoken(type="tool_use", id="t", name="x"), "messages[0].content[0].input is missing"),
    (
        "anthropic",
        spoken(type="tool_use", id="t", name="x", input="{}"),
        "messages[0].content[0].input is an object, not '{}'",
    ),
    ("aisdk", [{"role": "user", "parts": "Hi."}], "messages[0].parts is a list, not 'Hi.'"),
    ("aisdk", [{"role": "tool", "parts": []}], "messages[0].role is one of system, user, assistant, not 'tool'"),
    ("aisdk", [{"role": "user", "parts": [{"type": "text"}]}], "messages[0].parts[0].text is missing"),
    ("aisdk", [{"role": "user", "parts": [{"type": "tool-x"}]}], "messages[0].parts[0].toolCallId is missing"),
]


@pytest.mark.parametrize(("format", "value", "sentence"), BAD, ids=[sentence for *_, sentence in BAD])
def test_a_value_that_cannot_be_read_is_refused_with_its_place(format: str, value: Any, sentence: str) -> None:
    with pytest.raises(BadValue) as refused:
        formats.read(value, format)

    assert str(refused.value) == sentence


@pytest.mark.parametrize("format", formats.FORMATS)
def test_what_is_no_uimessage_is_not_written(format: str) -> None:
    for given, sentence in (
        ("Hi.", "messages is a list of them, not str"),
        (["Hi."], "messages[0] is an object, not 'Hi.'"),
        ([{"role": "user", "parts": [{"type": "file", "url": "x"}]}], "messages[0].parts[0].mediaType is missing"),
    ):
        with pytest.raises(BadValue) as refused:
            formats.write(given, format)  # type: ignore[arg-type]
        assert str(refused.value) == sentence


def test_a_format_that_is_not_known_is_refused() -> None:
    with pytest.raises(BadValue, match="format is one of aisdk, openai, openai-responses, anthropic, not 'gemini'"):
        formats.read([], "gemini")


# ---------------------------------------------------------------- something is wrong anywhere

JUNK: list[Any] = [None, 7, True, "x", [], {}, ["x"], [{}], {"type": "text"}, [{"type": "text", "text": "q"}]]
EXAMPLES: dict[str, Any] = {
    "openai": test_openai_chat.EXACT,
    "openai-responses": test_openai_responses.EXACT,
    "anthropic": test_anthropic.EXACT,
}


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in a value, with each of its keys."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


def broken(value: Any) -> Iterator[Any]:
    """The value again and again, each time with something else in one place. Each is only good until the next."""
    value = copy.deepcopy(value)
    for container, key in list(places(value)):
        before = container[key]
        for junk in JUNK:
            container[key] = copy.deepcopy(junk)
            yield value
        container[key] = before


def read_or_refuse(format: str, every: int) -> None:
    for example in EXAMPLES[format].values():
        for number, value in enumerate(broken(example)):
            if number % every == 0:
                formats.sniff(value)
                try:
                    found = messages(value, format)
                except BadValue:
                    continue
                for other in formats.FORMATS:
                    formats.write(found, other)


def write_or_refuse(format: str, every: int) -> None:
    for example in EXAMPLES[format].values():
        for number, value in enumerate(broken(messages(example, format))):
            if number % every == 0:
                for other in formats.FORMATS:
                    try:
                        formats.write(value, other)
                    except BadValue:
                        continue


@pytest.mark.parametrize("format", EXAMPLES)
def test_whatever_is_wrong_is_a_bad_value_or_does_no_harm(format: str) -> None:
    read_or_refuse(format, every=37)
    write_or_refuse(format, every=37)


@pytest.mark.long
@pytest.mark.parametrize("format", EXAMPLES)
def test_whatever_is_wrong_anywhere_is_a_bad_value_or_does_no_harm(format: str) -> None:
    read_or_refuse(format, every=1)
    write_or_refuse(format, every=1)
