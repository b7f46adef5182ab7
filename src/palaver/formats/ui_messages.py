"""UIMessages themselves: looked at before they are read or written, grouped into turns, split into steps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..base import arguments
from .assembling import Assembly
from .checking import check_part
from .conversation import Conversation, Part, UIMessage
from .looking import array, check, choose, need
from .marks import CHAT

_ROLES = {"system": "system", "user": "user", "assistant": "assistant"}


def read(value: Any) -> Conversation:
    """An array of UIMessages, or an object with `messages`, as turns; the messages stay as they are."""
    given, _ = array(value, "messages")
    assembly = Assembly(CHAT)
    for index, message in enumerate(checked(given)):
        assembly.take(index, message["role"], message)
    return assembly.done()


def write(messages: Iterable[UIMessage]) -> list[UIMessage]:
    return checked(messages)


def checked(messages: Iterable[Any]) -> list[UIMessage]:
    """The messages, if their parts have what makes them what they are."""
    found = list(arguments.several("messages", messages))
    for index, message in enumerate(found):
        at = f"messages[{index}]"
        choose(_ROLES, need(check(message, at, dict), "role", at, str), f"{at}.role")
        for place, part in enumerate(need(message, "parts", at, list)):
            check_part(part, f"{at}.parts[{place}]")
    return found


def steps(message: UIMessage) -> list[list[Part]]:
    """The parts of each call of the model."""
    found: list[list[Part]] = [[]]
    for part in message["parts"]:
        if part["type"] == "step-start":
            found.append([])
        else:
            found[-1].append(part)
    return [parts for parts in found if parts]
