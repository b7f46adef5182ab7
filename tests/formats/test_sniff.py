"""What a value looks like."""

from __future__ import annotations

from typing import Any

import pytest

from palaver.formats import sniff

from . import test_anthropic, test_openai_chat, test_openai_responses
from .support import said, text

HI = {"role": "user", "content": "Hi."}
PLAIN = {"texts", "one text in a list", "citations", "a system message in the middle"}
UNKNOWN = {
    *("a block that is not known", "blocks that are not known"),
    *("images and files", "items that are not known, and a reference"),
}


def test_uimessages_look_like_the_ai_sdks() -> None:
    assert sniff([said("user", text("Hi."))]) == "aisdk"
    assert sniff({"id": "chat", "trigger": "submit-message", "messages": [said("user", text("Hi."))]}) == "aisdk"


def looks(name: str, format: str) -> str | None:
    """What an example should look like: texts alone are everybody's, so OpenAI's; a block or item that is not known is
    nobody's."""
    if name in UNKNOWN:
        return None
    return "openai" if name in PLAIN else format


@pytest.mark.parametrize("name", test_openai_chat.EXACT)
def test_chat_completions_look_like_openais(name: str) -> None:
    assert sniff(test_openai_chat.EXACT[name]) == looks(name, "openai")


@pytest.mark.parametrize("name", test_openai_responses.EXACT)
def test_items_look_like_responses(name: str) -> None:
    assert sniff(test_openai_responses.EXACT[name]) == looks(name, "openai-responses")


@pytest.mark.parametrize("name", test_anthropic.EXACT)
def test_blocks_look_like_anthropics(name: str) -> None:
    assert sniff(test_anthropic.EXACT[name]["messages"]) == looks(name, "anthropic")


@pytest.mark.parametrize(
    ("value", "format"),
    [
        ([HI], "openai"),
        ({"model": "m", "messages": [HI]}, "openai"),
        ({"model": "m", "system": "Be brief.", "messages": [HI]}, "anthropic"),
        ({"model": "m", "input": "Hi."}, "openai-responses"),
        ({"model": "m", "input": [HI]}, "openai-responses"),
        ({"object": "response", "output": [{"type": "reasoning", "summary": []}]}, "openai-responses"),
    ],
)
def test_what_is_around_the_messages_counts(value: Any, format: str) -> None:
    assert sniff(value) == format


@pytest.mark.parametrize(
    "value",
    [
        *(None, 7, "Hi.", [], {}, [7], [{}], {"messages": []}, {"messages": "Hi."}, {"input": 7}, {"rows": [HI]}),
        [HI, {"name": "row"}],
        [HI, said("user", text("Hi."))],
        [{"role": "user", "content": [{"type": "tool_use"}, {"type": "image_url"}]}],
        [{"role": "user", "content": [7]}],
        [{"role": "narrator", "content": "Once."}],
    ],
)
def test_what_is_no_conversation_looks_like_nothing(value: Any) -> None:
    assert sniff(value) is None
