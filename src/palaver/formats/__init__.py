"""Conversations in the formats of model APIs, to UIMessages and back. Pure: values in, values out.

`read` answers a `Conversation`: turns of UIMessages, and where each item of the source went. `write` answers what an
API takes as context: for `anthropic` a pair of system prompt and messages, for the others a list. What is wrong with
a value is a `BadValue` that names the place. `sniff` says what a value looks like, `nearest` what
most of it does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import anthropic, openai_chat, openai_responses, ui_messages
from .conversation import Conversation as Conversation
from .conversation import Homeless as Homeless
from .conversation import Item as Item
from .conversation import Prompt as Prompt
from .conversation import TurnIn as TurnIn
from .conversation import UIMessage as UIMessage
from .looking import choose
from .sniffing import nearest as nearest
from .sniffing import sniff as sniff

_MODULES: dict[str, Any] = {
    "aisdk": ui_messages,
    "openai": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
}
FORMATS = tuple(_MODULES)


def read(value: Any, format: str) -> Conversation:
    found: Conversation = choose(_MODULES, format, "format").read(value)
    return found


def for_model(messages: Iterable[UIMessage], format: str) -> Any:
    """A context as an API takes it: the list, or for `anthropic` the arguments `messages` and, if there is one,
    `system`."""
    found = write(messages, format)
    if format != "anthropic":
        return found
    system, said = found
    return {"messages": said} if system is None else {"system": system, "messages": said}


def write(messages: Iterable[UIMessage], format: str) -> Any:
    return choose(_MODULES, format, "format").write(messages)
